// Names of system calls by what the filter does with them (syscall_filter.h), with spaces between. A name that a
// machine's architecture does not have is skipped. Those whose arguments matter (open, clone, kill, mmap, prctl, …) are
// rules in syscall_filter.cpp.
#pragma once
#include <cstdint>
#include <string_view>

namespace hearth::daemon {

inline constexpr std::uint64_t kPrSetVma = 0x53564d41;  // PR_SET_VMA: names of memory areas

// What any program with threads, files and memory of its own calls. Paths are Landlock's business.
inline constexpr std::string_view kOfEveryone =
    // open descriptors
    "read readv pread64 preadv preadv2 write writev pwrite64 pwritev pwritev2 lseek _llseek close close_range dup dup2 "
    "dup3 fstat fstatfs ftruncate fallocate fsync fdatasync fadvise64 copy_file_range sendfile splice flock poll ppoll "
    "select pselect6 pipe pipe2 eventfd2 getdents getdents64 epoll_create1 epoll_ctl epoll_wait epoll_pwait "
    // files by name
    "stat lstat newfstatat statx statfs access faccessat faccessat2 readlink readlinkat getcwd chdir fchdir mkdir "
    "mkdirat rmdir unlink unlinkat rename renameat renameat2 umask "
    // memory
    "brk munmap mremap madvise mincore msync membarrier "
    // threads, time, itself
    "futex futex_waitv set_robust_list get_robust_list set_tid_address rseq arch_prctl sched_yield sched_getaffinity "
    "sched_getparam sched_getscheduler sched_get_priority_max sched_get_priority_min getcpu nanosleep clock_nanosleep "
    "clock_gettime clock_getres gettimeofday time times getrusage getrlimit getpriority sysinfo uname getpid getppid "
    "gettid getuid geteuid getgid getegid getresuid getresgid getgroups getrandom capget exit exit_group "
    "restart_syscall pause alarm getitimer setitimer "
    // signals of its own
    "sigaltstack rt_sigaction rt_sigprocmask rt_sigreturn rt_sigpending rt_sigsuspend rt_sigtimedwait";

// Only those that start compilers: processes, links, and what shells and drivers do with both.
inline constexpr std::string_view kOfPrograms =
    "fork vfork execve wait4 waitid kill tkill tgkill setpgid getpgid getpgrp setsid getsid setrlimit mprotect "
    "symlink symlinkat mlock munlock timer_create timer_settime timer_gettime timer_getoverrun timer_delete "
    "timerfd_create timerfd_settime timerfd_gettime tee signalfd4 epoll_create epoll_pwait2 eventfd creat";

// Neither is for a compiler: modes, owners and times of files, which Landlock does not guard. A compiler worker is told
// so; a linker makes its output executable, and goes on believing it did.
inline constexpr std::string_view kChangesFiles =
    "chmod fchmod fchmodat fchmodat2 chown fchown lchown fchownat utime utimes futimesat utimensat";

inline constexpr std::string_view kStartsPrograms =
    "fork vfork execve execveat setpgid setsid setrlimit symlink symlinkat tkill";

// Programs that are in no file: Landlock could not tell them from those that may be started.
inline constexpr std::string_view kRunsMemory = "execveat memfd_create";

// What programs ask for out of habit, and do without.
inline constexpr std::string_view kRefused =
    "socket socketpair connect bind listen accept accept4 getsockname getpeername getsockopt setsockopt sendmsg "
    "recvmsg sendmmsg recvmmsg shutdown truncate link linkat mknod mknodat setxattr lsetxattr fsetxattr removexattr "
    "lremovexattr fremovexattr chroot setuid setgid setreuid setregid setresuid setresgid setfsuid setfsgid setgroups "
    "capset setpriority sched_setscheduler sched_setparam sched_setattr ioprio_set personality rt_sigqueueinfo "
    "rt_tgsigqueueinfo pidfd_open pidfd_send_signal inotify_init inotify_init1 inotify_add_watch mq_open shmget shmat "
    "semget msgget sethostname setdomainname syslog acct quotactl memfd_secret name_to_handle_at";

// What no compiler does: debugging and reading others, mounts and namespaces, kernel programs, modules, keys. And
// ptrace, see syscall_filter.cpp.
inline constexpr std::string_view kAttacks =
    "process_vm_readv process_vm_writev process_madvise kcmp pidfd_getfd mount umount2 umount pivot_root fsopen "
    "fsconfig fsmount fspick move_mount open_tree mount_setattr unshare setns bpf perf_event_open userfaultfd "
    "io_uring_setup io_uring_enter io_uring_register add_key request_key keyctl init_module finit_module delete_module "
    "kexec_load kexec_file_load reboot swapon swapoff iopl ioperm modify_ldt open_by_handle_at fanotify_init "
    "lookup_dcookie settimeofday clock_settime clock_adjtime adjtimex vhangup move_pages migrate_pages nfsservctl";

}  // namespace hearth::daemon

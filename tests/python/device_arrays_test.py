"""Arrays in a GPU's memory, of torch and of other libraries, as arguments and results of plans on that GPU. The driver is
a stand-in (tests/stand_in), and so are the libraries: what they allocate is its memory, whose streams run when somebody
waits."""
import ctypes
import os
import subprocess
import sys
import textwrap
import threading
import time
import types

DRIVER = os.environ["HEARTH_TEST_DEVICE"]  # "cuda" or "hip"

from place import FOLDER, F, I, Place, model, node, np  # noqa: E402

import hearth  # noqa: E402
import skipping  # noqa: E402

NAMES = {"cuda": ("libcuda.so.1", "cuInit", "cuMemAlloc_v2", "cuStreamCreate", "cuStreamSynchronize"),
         "hip": ("libamdhip64.so.7", "hipInit", "hipMalloc", "hipStreamCreateWithFlags", "hipStreamSynchronize")}
library, _init, _allocate, _stream_create, _synchronize = NAMES[DRIVER]
driver = ctypes.CDLL(library)
DLPACK_TYPE = {"cuda": 2, "hip": 10}[DRIVER]
_CODES = {"float32": (2, 32), "int32": (0, 32), "bool": (6, 8)}


def use_device():
    driver[_init](0)
    if DRIVER == "cuda":
        context = ctypes.c_void_p()
        driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0)
        driver.cuCtxPushCurrent_v2(context)


def new_stream():
    stream = ctypes.c_void_p()
    driver[_stream_create](ctypes.byref(stream), 1)
    return stream.value


class DLTensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("device_type", ctypes.c_int), ("device_id", ctypes.c_int32),
                ("ndim", ctypes.c_int32), ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16),
                ("shape", ctypes.POINTER(ctypes.c_int64)), ("strides", ctypes.POINTER(ctypes.c_int64)),
                ("byte_offset", ctypes.c_uint64)]


class DLManagedTensor(ctypes.Structure):
    pass


DELETER = ctypes.CFUNCTYPE(None, ctypes.POINTER(DLManagedTensor))
DLManagedTensor._fields_ = [("tensor", DLTensor), ("context", ctypes.c_void_p), ("deleter", DELETER)]
ctypes.pythonapi.PyCapsule_New.restype = ctypes.py_object
ctypes.pythonapi.PyCapsule_New.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
_given = {}  # by address, until their consumer lets them go


@DELETER
def _let_go(managed):
    _given.pop(ctypes.addressof(managed.contents))


class GpuArray:
    """Of a library that knows DLPack alone."""

    def __init__(self, values=None, shape=None, dtype="float32", address=None, strides=None):
        if values is not None:
            values = np.ascontiguousarray(values)
            shape, dtype = values.shape, str(values.dtype)
        self.shape, self.dtype, self.strides = tuple(shape), dtype, strides
        self.nbytes = int(np.prod(self.shape, dtype=int)) * np.dtype(dtype).itemsize
        self.address, self.asked = address, []
        if address is None:
            memory = ctypes.c_void_p()
            assert driver[_allocate](ctypes.byref(memory), ctypes.c_size_t(max(self.nbytes, 1))) == 0
            self.address = memory.value
            ctypes.memset(self.address, 0xEE, self.nbytes)
        if values is not None and values.nbytes:
            ctypes.memmove(self.address, values.ctypes.data, values.nbytes)

    def values(self):
        return np.frombuffer(ctypes.string_at(self.address, self.nbytes), self.dtype).reshape(self.shape)

    def __dlpack_device__(self):
        return (DLPACK_TYPE, 0)

    def __dlpack__(self, stream=None):
        self.asked.append(stream)
        managed = DLManagedTensor()
        lengths = (ctypes.c_int64 * max(1, len(self.shape)))(*self.shape)
        strides = None if self.strides is None else (ctypes.c_int64 * len(self.strides))(*self.strides)
        code, bits = _CODES[self.dtype]
        managed.tensor = DLTensor(self.address, DLPACK_TYPE, 0, len(self.shape), code, bits, 1, lengths, strides, 0)
        managed.deleter = _let_go
        _given[ctypes.addressof(managed)] = (managed, lengths, strides, self)
        return ctypes.pythonapi.PyCapsule_New(ctypes.addressof(managed), b"dltensor", None)


class StandardArray(GpuArray):
    """Of a library that follows the array API standard."""
    device = "the first GPU"

    def __array_namespace__(self):
        space = types.SimpleNamespace(float32="float32", int32="int32")
        space.empty = lambda shape, dtype, device: StandardArray(shape=shape, dtype=dtype)
        return space


class Torch(types.ModuleType):
    """What is asked of torch for tensors of a GPU."""

    class Tensor(GpuArray):
        device = f"{DRIVER}:0"
        copies = 0

        def contiguous(self):
            Torch.Tensor.copies += 1
            rows, columns = self.shape
            return Torch.Tensor(self.values().reshape(columns, rows).T)

    float32, int32 = "float32", "int32"

    def __init__(self):
        super().__init__("torch")
        self.stream = new_stream()
        self.cuda = types.SimpleNamespace(current_stream=lambda device: types.SimpleNamespace(cuda_stream=self.stream))
        self.made = 0

    def empty(self, shape, dtype, device):
        self.made += 1
        return Torch.Tensor(shape=shape, dtype=dtype) if device == f"{DRIVER}:0" else np.empty(shape, dtype)

    def synchronize(self):
        assert driver[_synchronize](ctypes.c_void_p(self.stream)) == 0


use_device()
torch = Torch()
ADD = model([node("Add", ["a", "b"], ["s"]), node("Relu", ["s"], ["y"])],
            {"a": (F, ["n", 4]), "b": (F, ["n", 4])}, {"y": F})


def numbers(n=3, first=-5):
    return np.arange(first, first + 4 * n, dtype="float32").reshape(n, 4)


class DeviceArrays(Place):
    def setUp(self):
        self.f = self.load(ADD, device=DRIVER, dims={"n": (0, 9)})
        sys.modules.pop("torch", None)

    def as_torch(self):
        sys.modules["torch"] = torch
        self.addCleanup(sys.modules.pop, "torch", None)

    def expect(self, got, a, b):
        np.testing.assert_array_equal(got, np.maximum(a + b, 0))

    def test_arrays_of_a_library_that_follows_the_standard_come_and_go_on_the_gpu(self):
        for n in (3, 1, 9, 0):
            a, b = StandardArray(numbers(n)), StandardArray(numbers(n, 1))
            y = self.f(a, b)
            self.assertIsInstance(y, StandardArray)
            self.assertEqual(y.shape, (n, 4))
            self.expect(y.values(), numbers(n), numbers(n, 1))
            self.assertEqual(a.asked, [1 if DRIVER == "cuda" else 0])  # ready for the default stream
        self.assertEqual(_given, {})  # all let go

    def test_results_for_a_library_that_makes_no_arrays_are_hearths(self):
        y = self.f(GpuArray(numbers()), GpuArray(numbers(3, 1)))
        self.assertIsInstance(y, hearth.Array)
        self.expect(np.asarray(y), numbers(), numbers(3, 1))

    def test_results_are_written_to_arrays_of_the_gpu_that_are_given(self):
        out = GpuArray(shape=(3, 4))
        self.assertIs(self.f.into(GpuArray(numbers()), GpuArray(numbers(3, 1)), out={"y": out}), out)
        self.expect(out.values(), numbers(), numbers(3, 1))
        host = np.zeros((3, 4), "float32")
        with self.refused(hearth.InvalidArgument, "out: 'y' is in host memory", "memory of the GPU"):
            self.f.into(GpuArray(numbers()), GpuArray(numbers()), out={"y": host})
        self.assertIs(self.f.into(numbers(), numbers(3, 1), out={"y": out}), out)  # the result alone
        self.expect(out.values(), numbers(), numbers(3, 1))
        same = GpuArray(numbers())
        with self.refused(hearth.InvalidArgument, "overlaps"):
            self.f.into(same, GpuArray(numbers()), out={"y": same})

    def test_arrays_of_the_host_and_of_the_gpu_in_one_call_and_in_turns(self):
        for _ in range(3):
            self.expect(self.f(numbers(), StandardArray(numbers(3, 1))).values(), numbers(), numbers(3, 1))
            self.expect(self.f(numbers(2), numbers(2, 7)), numbers(2), numbers(2, 7))
            self.expect(self.f(StandardArray(numbers()), numbers(3, 2)).values(), numbers(), numbers(3, 2))
            self.expect(self.f(StandardArray(numbers(5)), StandardArray(numbers(5))).values(), numbers(5), numbers(5))

    def test_a_callers_old_array_is_not_written_to(self):
        h1, h2, h3 = numbers(3, 1), numbers(3, 9), numbers(3, 100)
        for out in (None, GpuArray(shape=(3, 4))):
            call = (lambda *args: self.f.into(*args, out={"y": out})) if out else self.f
            gpu = StandardArray(numbers())
            call(gpu, h1)
            kept = h2.copy()
            self.expect(self.f(numbers(), h2), numbers(), h2)  # of the host alone: binds h2
            y = call(gpu, h3)
            np.testing.assert_array_equal(h2, kept)
            self.expect(y.values(), numbers(), h3)
        profile = self.f.profile(numbers(), h2)
        self.assertEqual(len(profile), 1)
        self.expect(self.f(StandardArray(numbers()), h3).values(), numbers(), h3)
        np.testing.assert_array_equal(h2, kept)

    def test_other_threads_go_on_while_a_call_waits_for_the_gpu(self):
        self.as_torch()
        made = model([node("Add", ["x", "s"], ["t"])], {"x": (F, [4]), "s": (F, [4])}, {"t": F})
        stream = self.load(made, device=DRIVER).stream(carry={"t": "s"})
        ones = torch.Tensor(np.ones(4, "float32"))
        gpu = torch.Tensor(numbers())
        for name, queue, wait in (
                ("a call with an array of the host", lambda: self.f(gpu, gpu), lambda: self.f(gpu, numbers(3, 1))),
                ("a stream's state", lambda: stream(ones), lambda: stream.state),
                ("a stream's reset", lambda: stream(ones), lambda: stream.reset(s=np.zeros(4, "float32"))),
                ("a stream's reset to zeros", lambda: stream(ones), lambda: stream.reset())):
            with self.subTest(name):
                kept = [queue()]
                ended = []
                driver.hearth_stand_in_hang(True)


                def call():
                    use_device()
                    ended.append(wait())
                thread = threading.Thread(target=call)
                try:
                    thread.start()  # returns once it runs, and this thread goes on beside it
                    for _ in range(1000):
                        pass
                    self.assertEqual(ended, [])
                finally:
                    driver.hearth_stand_in_hang(False)
                    thread.join()
                self.assertEqual(len(ended), 1, "it gave up before the GPU went on: this thread stood still")
                torch.synchronize()
                del kept

    def test_a_launch_that_fails_is_an_error_and_the_next_call_works(self):
        launch = {"cuda": b"cuGraphLaunch", "hip": b"hipGraphLaunch"}[DRIVER]
        self.expect(self.f(numbers(), numbers(3, 1)), numbers(), numbers(3, 1))
        driver.hearth_stand_in_reset()
        driver.hearth_stand_in_fail(launch, 2, 2)  # the second from now on: out of memory
        self.expect(self.f(numbers(), numbers(3, 1)), numbers(), numbers(3, 1))
        with self.refused(hearth.ResourceExhausted, launch.decode()):
            self.f(numbers(), numbers(3, 1))
        self.expect(self.f(numbers(), numbers(3, 9)), numbers(), numbers(3, 9))
        self.expect(self.f(StandardArray(numbers()), StandardArray(numbers())).values(), numbers(), numbers())

    def test_a_gpu_that_is_lost_is_said_to_be_and_the_process_goes_on(self):
        path = FOLDER / f"lost_{DRIVER}.onnx"
        path.write_bytes(ADD.SerializeToString())
        program = textwrap.dedent(f"""
            import ctypes
            import numpy as np
            import hearth
            f = hearth.load({str(path)!r}, device={DRIVER!r}, dims={{"n": (0, 9)}})
            on_cpu = hearth.load({str(path)!r}, dims={{"n": (0, 9)}})
            x = np.ones((3, 4), "f")
            assert (f(x, x) == 2).all()
            ctypes.CDLL({library!r}).hearth_stand_in_fail(b"kernel", 1, 700)
            for _ in range(3):
                try:
                    f(x, x)
                    print("no error")
                except hearth.Error as error:
                    print(type(error).__name__)
            assert (on_cpu(x, x) == 2).all()
            print("goes on")
        """)
        ran = subprocess.run([sys.executable, "-B", "-c", program], capture_output=True, text=True)
        self.assertEqual((ran.returncode, ran.stdout.split("\n")[1:]),
                         (0, ["Unavailable", "Unavailable", "goes on", ""]), ran.stdout + ran.stderr)

    def test_a_stream_that_another_thread_calls_is_neither_reset_nor_read(self):
        made = model([node("Add", ["x", "s"], ["t"])], {"x": (F, [4]), "s": (F, [4])}, {"t": F})
        stream = self.load(made, device=DRIVER).stream(carry={"t": "s"})
        stream(np.ones(4, "float32"))
        launch = {"cuda": b"cuGraphLaunch", "hip": b"hipGraphLaunch"}[DRIVER]
        driver.hearth_stand_in_reset()
        driver.hearth_stand_in_hang(True)
        thread = threading.Thread(target=stream, args=(np.ones(4, "float32"),))
        thread.start()
        try:
            while driver.hearth_stand_in_calls(launch) == 0:
                time.sleep(0.001)
            for use in (lambda: stream.reset(), lambda: stream.state, lambda: stream.reset(s=np.zeros(4, "float32")),
                        lambda: stream(np.ones(4, "float32"))):
                with self.refused(hearth.FailedPrecondition, "called by another thread", "one a thread"):
                    use()
        finally:
            driver.hearth_stand_in_hang(False)
            thread.join()
        np.testing.assert_array_equal(np.asarray(stream.state["s"]), np.full(4, 2, "float32"))
        stream.reset()

    def test_torchs_tensors_are_computed_on_its_stream_and_the_call_does_not_wait(self):
        self.as_torch()
        a, b = torch.Tensor(numbers()), torch.Tensor(numbers(3, 1))
        y = self.f(a, b)
        self.assertIsInstance(y, torch.Tensor)
        self.assertEqual(a.asked, [-1])  # nobody has to wait: it is the same stream
        self.assertTrue((y.values().view("uint8") == 0xEE).all())  # not yet
        z = self.f(y, b)  # behind it
        torch.synchronize()
        self.expect(y.values(), numbers(), numbers(3, 1))
        self.expect(z.values(), np.maximum(numbers() + numbers(3, 1), 0), numbers(3, 1))

    def test_an_array_of_the_host_does_not_change_what_is_queued(self):
        self.as_torch()
        a = torch.Tensor(numbers())
        first = self.f(a, numbers(3, 1))
        second = self.f(a, numbers(3, 50))
        third = self.f(numbers(2), numbers(2))
        torch.synchronize()
        self.expect(first.values(), numbers(), numbers(3, 1))
        self.expect(second.values(), numbers(), numbers(3, 50))
        self.expect(third, numbers(2), numbers(2))

    def test_what_is_not_dense_is_copied_by_torch_and_refused_of_others(self):
        self.as_torch()
        values = numbers(3)
        kept = torch.Tensor(np.ascontiguousarray(values.T))  # [4, 3] in memory, seen as [3, 4]
        seen = torch.Tensor(shape=(3, 4), address=kept.address, strides=(1, 3))
        before = torch.Tensor.copies
        y = self.f(seen, torch.Tensor(numbers(3, 1)))
        torch.synchronize()
        self.expect(y.values(), values, numbers(3, 1))
        self.assertEqual(torch.Tensor.copies, before + 1)
        with self.refused(hearth.InvalidArgument, "input 'a' is not dense", "contiguous"):
            self.f(GpuArray(shape=(3, 4), address=kept.address, strides=(1, 3)), GpuArray(numbers()))

    def test_memory_that_the_plan_cannot_use_is_refused_by_name(self):
        on_cpu = self.load(ADD, dims={"n": (0, 9)})
        with self.refused(hearth.InvalidArgument, "input 'a' is on device type", "expected host memory", "x.cpu()"):
            on_cpu(GpuArray(numbers()), GpuArray(numbers()))
        nowhere = np.zeros(12, "float32")
        with self.refused(hearth.InvalidArgument, "input 'b'", "in no memory of"):
            self.f(GpuArray(numbers()), GpuArray(shape=(3, 4), address=nowhere.ctypes.data))
        small = GpuArray(numbers(1))
        with self.refused(hearth.InvalidArgument, "input 'a'", "beyond the end"):
            self.f(GpuArray(shape=(9, 4), address=small.address), GpuArray(numbers(9)))
        with self.refused(hearth.InvalidArgument, "input 'a' is int32", "float32"):
            self.f(GpuArray(np.zeros((3, 4), "int32")), GpuArray(numbers()))
        foreign = GpuArray(numbers())
        foreign.__class__ = type("Other", (GpuArray,), {"__dlpack_device__": lambda self: (7, 0)})
        with self.refused(hearth.InvalidArgument, "device type 7", "the plan's"):
            self.f(foreign, GpuArray(numbers()))
        self.expect(np.asarray(self.f(GpuArray(numbers()), GpuArray(numbers()))), numbers(), numbers())  # it goes on

    def test_a_result_whose_length_depends_on_the_data_is_cut(self):
        self.as_torch()
        f = self.load(model([node("NonZero", ["x"], ["y"])], {"x": (F, [6])}, {"y": I}), device=DRIVER)
        x = np.array([0, 3, 0, 0, 1, 2], "float32")
        got = f(GpuArray(x))
        np.testing.assert_array_equal(np.asarray(got), np.nonzero(x)[0][None])

    def test_a_stream_keeps_its_state_on_calls_with_arrays_of_the_gpu(self):
        made = model([node("Add", ["x", "s"], ["t"])], {"x": (F, [4]), "s": (F, [4])}, {"t": F})
        stream = self.load(made, device=DRIVER).stream(carry={"t": "s"})
        self.as_torch()
        for _ in range(3):
            stream(torch.Tensor(np.ones(4, "float32")))
        np.testing.assert_array_equal(np.asarray(stream.state["s"]), np.full(4, 3, "float32"))
        stream.reset(s=np.full(4, 9, "float32"))
        stream(torch.Tensor(np.ones(4, "float32")))
        np.testing.assert_array_equal(np.asarray(stream.state["s"]), np.full(4, 10, "float32"))

    def test_a_profile_of_arrays_of_the_gpu(self):
        profile = self.f.profile(StandardArray(numbers()), StandardArray(numbers()))
        self.assertEqual(len(profile), 1)

    def test_a_jitted_function_takes_torchs_tensors_of_the_gpu(self):
        self.as_torch()

        @hearth.jit(device=DRIVER)
        def f(a, b):
            return hearth.ops.relu(a + b)

        a, b = torch.Tensor(numbers()), torch.Tensor(numbers(3, 1))
        y = f(a, b)
        torch.synchronize()
        self.assertIsInstance(y, torch.Tensor)
        self.expect(y.values(), numbers(), numbers(3, 1))


if __name__ == "__main__":
    skipping.main()

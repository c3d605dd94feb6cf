# Stages: test (every test), daemon (hearthd, its worker, the hearth command), blobs (the same with the compilers of kernel
# blobs), sdk (libhearth with its headers, and compilers for C++ and C). The last three are made of the Debian packages.
#   docker build --target daemon -t hearthd .
#   docker run -v /run/hearth:/run/hearth -v hearth-cache:/var/cache/hearth hearthd
#   docker build --target test .
# What building needs comes from scripts/packages.txt through scripts/setup.sh, as on any machine.

FROM debian:12 AS base
WORKDIR /src
COPY scripts/setup.sh scripts/packages.txt scripts/
RUN bash scripts/setup.sh && rm -rf /var/lib/apt/lists/*

FROM base AS build
COPY . .
RUN bash scripts/package.sh

FROM base AS test
COPY . .
RUN bash scripts/test.sh

FROM debian:12-slim AS daemon
# The numbers are those of deploy/kubernetes.
RUN groupadd --system --gid 999 hearth \
 && useradd --system --uid 999 --gid 999 --home-dir /var/cache/hearth --create-home --shell /usr/sbin/nologin hearth \
 && install -d -o hearth -g hearth -m 0755 /run/hearth
COPY --from=build /src/build/packages/hearth_*.deb /packages/
RUN apt-get update \
 && apt-get install -y --no-install-recommends /packages/hearth_*.deb \
 && rm -rf /var/lib/apt/lists/* /packages
USER hearth
ENV HEARTH_SOCKET=/run/hearth/hearthd.sock HEARTH_CACHE_DIR=/var/cache/hearth
VOLUME ["/run/hearth", "/var/cache/hearth"]
ENTRYPOINT ["hearthd"]
CMD ["--foreground"]

FROM daemon AS blobs
USER root
COPY --from=build /src/build/packages/hearth-blobs_*.deb /packages/
# g++ compiles blobs of plain C++, the others those of HIP without ROCm; `hearth blobs doctor` tells what works.
RUN apt-get update \
 && apt-get install -y --no-install-recommends /packages/hearth-blobs_*.deb \
    g++ clang-19 clang-tools-19 lld-19 llvm-19 hipcc libamdhip64-dev rocm-device-libs \
 && rm -rf /var/lib/apt/lists/* /packages
USER hearth

FROM debian:12-slim AS sdk
COPY --from=build /src/build/packages/hearth_*.deb /src/build/packages/libhearth0_*.deb /src/build/packages/libhearth-dev_*.deb /packages/
RUN apt-get update \
 && apt-get install -y --no-install-recommends /packages/hearth_*.deb /packages/libhearth*.deb \
    cmake g++ make pkg-config \
 && rm -rf /var/lib/apt/lists/* /packages

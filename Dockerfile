# Stages: build (programs and SDK), test, daemon (daemon, workers, CLI, and the compilers of kernel blobs), sdk (client
# library, its headers and a compiler).
#   docker build --target daemon -t hearthd .
#   docker build --target test .
# Packages come from scripts/packages.txt through scripts/setup.sh, as on any machine.

FROM debian:12 AS base
WORKDIR /src
COPY scripts/setup.sh scripts/packages.txt scripts/
RUN bash scripts/setup.sh && rm -rf /var/lib/apt/lists/*

FROM base AS build
COPY . .
RUN cmake --preset release && cmake --build --preset release --parallel "$(nproc)"
# The client SDK: headers of client/ and runtime/ and of the messages they use, libhearth.
RUN mkdir -p /sdk/include /sdk/lib \
 && find client runtime -name '*.h' -exec cp --parents {} /sdk/include/ \; \
 && (cd build/release/gen && find . -name '*.pb.h' -exec cp --parents {} /sdk/include/ \;) \
 && cp -a build/release/lib/libhearth* /sdk/lib/

FROM build AS test
RUN bash scripts/test.sh

FROM debian:12-slim AS daemon
# g++ compiles blobs of plain C++, the second line those of HIP without ROCm; `hearth blobs doctor` tells what works.
RUN apt-get update \
 && apt-get install -y --no-install-recommends libllvm19 liblld-19 libgrpc++1.51 libmicrohttpd12 libnghttp2-14 libprotobuf32 libsqlite3-0 libnettle8 libseccomp2 libsystemd0 libzstd1 libspdlog1.10 \
    libfmt9 libonnx1 libtomlplusplus3 libutf8proc2 zlib1g \
    g++ clang-19 clang-tools-19 lld-19 llvm-19 hipcc libamdhip64-dev rocm-device-libs \
 && rm -rf /var/lib/apt/lists/* \
 && useradd --system --create-home --home-dir /var/lib/hearth hearth
COPY --from=build /src/build/release/bin/hearthd /src/build/release/bin/hearth-worker /src/build/release/bin/hearth-blob-worker /src/build/release/bin/hearth /usr/local/bin/
COPY --from=build /src/LICENSE /usr/share/doc/hearth/LICENSE
USER hearth
ENV HEARTH_CACHE_DIR=/var/lib/hearth/cache HEARTH_SOCKET=/var/lib/hearth/hearthd.sock
VOLUME /var/lib/hearth
ENTRYPOINT ["hearthd"]

FROM debian:12-slim AS sdk
RUN apt-get update \
 && apt-get install -y --no-install-recommends libnghttp2-14 libprotobuf32 libnettle8 libfmt9 libonnx1 libtomlplusplus3 libutf8proc2 \
    g++ libabsl-dev libprotobuf-dev \
 && rm -rf /var/lib/apt/lists/*
COPY --from=build /sdk /usr/local
COPY --from=build /src/build/release/bin/hearth /src/build/release/bin/hearth-hipcc /src/build/release/bin/hearth-blobc /usr/local/bin/
COPY --from=build /src/LICENSE /usr/share/doc/hearth/LICENSE

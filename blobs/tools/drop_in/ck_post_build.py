#!/usr/bin/env python3
"""What the link of libmha_*.so becomes in such a build: dispatchers rewritten, the list of blobs embedded, the library
linked. The interceptor runs it; by hand it links once more what was recorded.

    ck_post_build.py --config ROCM_HOME/.hearth/intercept.json --link TMP_DIR/libmha_fwd/link.json
"""
import argparse

from ck_hearth import become


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter,
                                     allow_abbrev=False)
    parser.add_argument("--config", required=True, help="what the build is told")
    parser.add_argument("--link", required=True, help="the link, as the interceptor wrote it down")
    args = parser.parse_args()
    become("hearth", "blobs", "post-build", "--config", args.config, "--link", args.link)


if __name__ == "__main__":
    main()

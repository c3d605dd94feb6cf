"""torch's own samples of its operators: none is wrong. A part of them in the first tier, all in the second."""
import os
import unittest

from place import Place, skipping

try:
    import expecttest  # noqa: F401 (torch.testing's samples need it)
    import torch
except ImportError:
    torch = None

IS_LONG = os.environ.get("HEARTH_TEST_LONG")
EVERY, SAMPLES = (1, 5) if IS_LONG else (12, 2)


@unittest.skipIf(torch is None, "torch and expecttest are not installed")
class Operators(Place):
    def test_no_sample_is_wrong(self):
        from torch_op_db import outcomes, quiet

        with quiet():
            counts, _, wrong = outcomes(first=3 % EVERY, every=EVERY, samples=SAMPLES)
        print(dict(counts))
        self.assertEqual(wrong, [])
        self.assertGreater(counts["right"], 2 * (counts["eager"] + counts["partly"]))

    def test_most_of_core_aten_has_an_entry(self):
        from hearth.torch.importer.table import TABLE
        from torch._decomp import core_aten_decompositions

        known, decomposed, missing = 0, core_aten_decompositions(), []
        for packet in (getattr(torch.ops.aten, name) for name in dir(torch.ops.aten)):
            if not isinstance(packet, torch._ops.OpOverloadPacket):
                continue
            for overload in (getattr(packet, name) for name in packet.overloads()):
                if torch.Tag.core not in overload.tags:
                    continue
                known += 1
                if overload not in TABLE and overload not in decomposed:
                    missing.append(str(overload))
        self.assertGreaterEqual(known - len(missing), 0.7 * known, missing)
        print(f"{known - len(missing)} of {known} overloads of core ATen; not: {', '.join(missing)}")


if __name__ == "__main__":
    skipping.main()

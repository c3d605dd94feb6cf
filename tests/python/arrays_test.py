"""Arrays in and out of calls: whose they are, what is copied, and what is refused."""
import array
import ctypes
import gc
import os
import subprocess
import sys
import threading
import unittest

from place import FOLDER, PRELOADED, B, D, F, H, I, I32, Place, add, hearth, model, node, np, random, relu, skipping

try:
    import torch
except ImportError:
    torch = None


class Kinds(Place):
    @classmethod
    def setUpClass(cls):
        cls.f = hearth.load(relu().SerializeToString(), dims={"batch": (1, 8)})
        cls.x = random(3, 4)
        cls.want = np.maximum(cls.x, 0)

    def test_numpy_in_numpy_out(self):
        y = self.f(self.x)
        self.assertIs(type(y), np.ndarray)
        self.assertEqual(y.dtype, np.float32)
        np.testing.assert_array_equal(y, self.want)
        self.assertTrue(y.flags.owndata and y.flags.writeable)

    def test_results_are_the_callers_own(self):
        first = self.f(self.x)
        kept = first.copy()
        for _ in range(10):
            self.f(-self.x)
        gc.collect()
        np.testing.assert_array_equal(first, kept)

    def test_buffers_give_hearth_arrays(self):
        for given in (memoryview(self.x), array.array("f", range(-4, 0))):
            if isinstance(given, array.array):
                given = memoryview(given).cast("B").cast("f", (1, 4))
            y = self.f(given)
            self.assertIs(type(y), hearth.Array)
            np.testing.assert_array_equal(np.asarray(y), np.maximum(np.asarray(given), 0))

    def test_a_hearth_array_is_taken_again(self):
        y = self.f(memoryview(self.x))
        again = self.f(y)
        self.assertIs(type(again), hearth.Array)
        self.assertEqual(again.tolist(), self.want.tolist())
        self.assertEqual((again.shape, again.dtype, again.ndim, again.size, again.nbytes, len(again)),
                         ((3, 4), "float32", 2, 12, 48, 3))
        self.assertEqual(bytes(again), self.want.tobytes())
        self.assertEqual(again.tobytes(), self.want.tobytes())
        self.assertEqual(repr(again), "hearth.Array(float32, [3, 4])")
        shared = np.from_dlpack(again)
        shared[0, 0] = 7
        self.assertEqual(again.tolist()[0][0], 7)
        copied = np.from_dlpack(again, copy=True)
        copied[0, 0] = 8
        self.assertEqual(again.tolist()[0][0], 7)
        self.assertEqual(np.asarray(again, dtype="f8").dtype, np.float64)
        with self.assertRaisesRegex(ValueError, "avoid copy"):
            np.asarray(again, dtype="f8", copy=False)

    def test_an_array_outlives_its_function_and_a_capsule_its_array(self):
        f = hearth.load(relu().SerializeToString(), dims={"batch": (1, 8)})
        y = f(memoryview(self.x))
        del f
        capsule = y.__dlpack__(max_version=(1, 0))
        old = y.__dlpack__()
        view = np.from_dlpack(y)
        del y
        gc.collect()
        np.testing.assert_array_equal(view, self.want)
        del capsule, old
        gc.collect()

    @unittest.skipUnless(torch, "torch is not installed")
    def test_torch_in_torch_out(self):
        x = torch.from_numpy(self.x)
        y = self.f(x)
        self.assertIs(type(y), torch.Tensor)
        np.testing.assert_array_equal(y.numpy(), self.want)
        transposed = torch.from_numpy(np.ascontiguousarray(self.x.T)).T
        np.testing.assert_array_equal(self.f(transposed).numpy(), self.want)
        y = self.f(torch.from_numpy(np.ascontiguousarray(self.x[:, ::-1])).flip(1))
        np.testing.assert_array_equal(y.numpy(), self.want)

    @unittest.skipUnless(torch, "torch is not installed")
    def test_torch_tensors_that_are_refused(self):
        x = torch.from_numpy(self.x)
        with self.refused(ValueError, "input 'x'", "tensor.detach()"):
            self.f(x.clone().requires_grad_())
        with self.refused(ValueError, "input 'x'"):
            self.f(x.to_sparse())
        with self.refused(ValueError, "input 'x'"):
            self.f(torch.zeros(3, 4, device="meta"))
        with self.refused(ValueError, "input 'x'"):
            self.f(torch.zeros(3, 4, dtype=torch.complex64).conj())
        with self.refused(ValueError, "input 'x' is float64 [3, 4]; expected float32"):
            self.f(x.double())

    @unittest.skipUnless(torch, "torch is not installed")
    def test_bfloat16_of_torch(self):
        import onnx
        made = relu()
        for value in (made.graph.input[0], made.graph.output[0]):
            value.type.tensor_type.elem_type = onnx.TensorProto.BFLOAT16
        f = self.load(made, dims={"batch": (1, 8)})
        x = torch.tensor([[1.5, -2, 3, -0.25]], dtype=torch.bfloat16)
        y = f(x)
        self.assertEqual((y.dtype, y.tolist()), (torch.bfloat16, [[1.5, 0, 3, 0]]))

    def test_bfloat16_of_numpy(self):
        import ml_dtypes
        import onnx
        made = relu()
        for value in (made.graph.input[0], made.graph.output[0]):
            value.type.tensor_type.elem_type = onnx.TensorProto.BFLOAT16
        f = self.load(made, dims={"batch": (1, 8)})
        self.assertEqual(f.inputs[0].dtype, "bfloat16")
        y = f(np.array([[1.5, -2, 3, -0.25]], ml_dtypes.bfloat16))
        self.assertEqual((y.dtype, y.tolist()), (np.dtype(ml_dtypes.bfloat16), [[1.5, 0, 3, 0]]))

    def test_every_type_comes_back_as_it_went_in(self):
        for dtype in ("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16",
                      "float32", "float64"):
            with self.subTest(dtype):
                made = model([node("Identity", ["x"], ["y"])], {"x": (np.dtype(dtype).type, ["n"])},
                             {"y": np.dtype(dtype).type})
                f = self.load(made, dims={"n": (0, 8)})
                x = np.array([0, 1, 1, 0, 1]).astype(dtype)
                y = f(x)
                self.assertEqual((y.dtype, y.tolist()), (x.dtype, x.tolist()))
                own = f(memoryview(x))
                self.assertEqual((own.dtype, own.tolist()), (dtype, x.tolist()))
                self.assertEqual(f(np.zeros(0, dtype)).shape, (0,))


class Exporter:
    """An array of the DLPack protocol alone."""

    def __init__(self, of, capsule=None, versioned=True, device=None):
        self.of, self.capsule, self.versioned, self.device = of, capsule, versioned, device

    def __dlpack__(self, **options):
        if "max_version" in options and not self.versioned:
            raise TypeError("max_version")
        return self.capsule if self.capsule is not None else self.of.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.device or self.of.__dlpack_device__()


class Layouts(Place):
    @classmethod
    def setUpClass(cls):
        cls.f = hearth.load(relu().SerializeToString(), dims={"batch": (1, 8)})
        cls.strict = hearth.load(relu().SerializeToString(), dims={"batch": (1, 8)}, copy=False)
        cls.x = random(3, 4)

    def layouts(self):
        x = self.x
        wide = np.zeros((3, 9), "f")
        wide[:, 1::2] = x
        raw = np.zeros(3 * 4 * 4 + 1, "u1")
        unaligned = raw[1:].view("f").reshape(3, 4)
        unaligned[:] = x
        return {"Fortran": np.asfortranarray(x), "negative strides": np.ascontiguousarray(x[::-1, ::-1])[::-1, ::-1],
                "steps": wide[:, 1::2], "unaligned": unaligned}

    def test_what_is_not_dense_is_copied(self):
        for name, x in self.layouts().items():
            with self.subTest(name):
                np.testing.assert_array_equal(self.f(x), np.maximum(self.x, 0))
        zero = np.broadcast_to(self.x[:1], (3, 4))
        np.testing.assert_array_equal(self.f(zero), np.maximum(zero, 0))

    def test_or_refused_with_copy_false(self):
        for name, x in self.layouts().items():
            with self.subTest(name), self.refused(ValueError, "input 'x'", "copy=False", "ascontiguousarray"):
                self.strict(x)
        np.testing.assert_array_equal(self.strict(self.x), np.maximum(self.x, 0))
        one = self.x[:1, ::1][:, :]  # strides of axes of one element mean nothing
        np.testing.assert_array_equal(self.strict(np.asfortranarray(one[:1, :4].reshape(1, 4))), np.maximum(one, 0))

    def test_read_only_is_read(self):
        x = self.x.copy()
        x.flags.writeable = False
        np.testing.assert_array_equal(self.f(x), np.maximum(x, 0))
        np.testing.assert_array_equal(self.f(memoryview(x.tobytes()).cast("f", (3, 4))), np.maximum(x, 0))

    def test_subclasses_are_read_and_masks_are_not_lost(self):
        class Mine(np.ndarray):
            pass
        y = self.f(self.x.view(Mine))
        self.assertIs(type(y), np.ndarray)
        with self.refused(ValueError, "input 'x' is a masked array", "filled"):
            self.f(np.ma.array(self.x))

    def test_types_that_are_refused_are_named(self):
        for x, words in ((self.x.astype(">f4"), ">f4, big-endian"), (self.x.astype(object), "dtype object"),
                         (self.x.astype("M8[s]"), "datetime64[s]"), (self.x.astype("c8"), "complex64"),
                         (self.x.astype("g"), "float128"),
                         (np.zeros((3, 4), "S4"), "|S4"),
                         (np.zeros((3, 4), [("a", "f4")]), "[('a', '<f4')]")):
            with self.subTest(words), self.refused(ValueError, "input 'x' has dtype", words, "expected"):
                self.f(x)
        with self.refused(ValueError, "input 'x' is float64 [3, 4]; expected float32"):
            self.f(self.x.astype("d"))
        with self.refused(ValueError, "buffer format"):
            self.f((ctypes.c_longdouble * 4)())

    def test_lengths_that_are_refused_are_named(self):
        for shape, words in (((3, 5), "input 'x' has 5 along axis 1; expected 4"),
                             ((9, 4), "input 'x' has 9 along axis 0; expected 1 to 8 (batch)"),
                             ((0, 4), "input 'x' has 0 along axis 0; expected 1 to 8 (batch)"),
                             ((4,), "input 'x' has 1 axes [4]; expected 2 [batch, 4]"),
                             ((), "input 'x' has 0 axes"), ((1,) * 33, "33 axes")):
            with self.subTest(shape), self.refused(ValueError, words):
                self.f(np.zeros(shape, "f"))
        huge = np.lib.stride_tricks.as_strided(np.zeros(1, "f"), (2**31, 4), (0, 0))
        with self.refused(ValueError, f"input 'x' has {2**31} along axis 0"):  # before anything is copied
            self.f(huge)

    def test_what_is_no_array_is_refused(self):
        for x in ("text", [1.0], None, {}, object(), hearth):
            with self.subTest(type(x).__name__), self.refused(TypeError, "input 'x' is of type", "expected an array"):
                self.f(x)
        with self.refused(ValueError, "input 'x' has 0 axes"):
            self.f(1.0)

    def test_memory_is_held_during_a_call_and_let_go_of_after(self):
        x = bytearray(self.x.tobytes())
        self.f(memoryview(x).cast("f", (3, 4)))
        x.extend(b"1234")  # a bytearray whose memory were still held would refuse
        y = self.x.copy()
        before = sys.getrefcount(y)
        for _ in range(100):
            self.f(y)
        self.assertEqual(sys.getrefcount(y), before)

    def test_an_array_that_another_thread_resizes(self):
        f = hearth.load(relu(["n"]).SerializeToString(), dims={"n": (1, 1 << 20)})
        stop = threading.Event()
        x = bytearray(4 << 18)

        def resize():
            while not stop.is_set():
                try:
                    x.extend(b"1234" * 1000)
                    del x[1 << 20:]
                except BufferError:
                    pass
        other = threading.Thread(target=resize)
        other.start()
        for _ in range(200):
            view = memoryview(x)
            length = len(view) // 4
            y = f(view[:length * 4].cast("f"))
            self.assertEqual(y.shape, (length,))
            view.release()
        stop.set()
        other.join()


    def test_who_asks_for_fortrans_order_is_told_that_it_is_cs(self):
        class Buffer(ctypes.Structure):
            _fields_ = [("buf", ctypes.c_void_p), ("obj", ctypes.c_void_p), ("len", ctypes.c_ssize_t), ("rest", ctypes.c_char * 256)]
        get, release = ctypes.pythonapi.PyObject_GetBuffer, ctypes.pythonapi.PyBuffer_Release
        get.argtypes, release.argtypes = [ctypes.py_object, ctypes.POINTER(Buffer), ctypes.c_int], [ctypes.POINTER(Buffer)]
        f = hearth.load(relu(["a", "b"]).SerializeToString(), dims={"a": (0, 4), "b": (0, 4)})
        fortran, c, either = 0x58, 0x38, 0x98  # PyBUF_F_CONTIGUOUS, _C_CONTIGUOUS, _ANY_CONTIGUOUS
        for shape, is_both in (((3, 4), False), ((1, 4), True), ((3, 1), True), ((0, 4), True)):
            y = f(memoryview(np.ones((4, 4), "f"))[:0] if 0 in shape else memoryview(np.ones(shape, "f")))
            self.assertIs(type(y), hearth.Array)
            for flags in (fortran, c, either):
                buffer = Buffer()
                if flags == fortran and not is_both:
                    with self.assertRaisesRegex(BufferError, "C order"):
                        get(y, ctypes.byref(buffer), flags)
                    continue
                self.assertEqual(get(y, ctypes.byref(buffer), flags), 0)
                release(ctypes.byref(buffer))

    def test_calls_side_by_side_leave_no_memory_behind(self):
        f = hearth.load(relu().SerializeToString(), dims={"batch": (1, 8)})
        y = f(memoryview(self.x))

        class Calling:
            """Calls again while it is read."""

            def __init__(self, depth):
                self.depth = depth

            def __dlpack__(self, **options):
                if self.depth:
                    f(Calling(self.depth - 1))
                return y.__dlpack__(**options)
        f(Calling(20))
        self.assertEqual(f._num_idle, 21)
        for _ in range(10):
            f(Calling(20))
        self.assertEqual(f._num_idle, 21)  # all of them are used
        for _ in range(600):
            f(self.x)
        self.assertEqual(f._num_idle, 1)
        f(Calling(2))
        self.assertEqual(f._num_idle, 3)

    def test_weights_larger_than_memory_are_mapped_and_not_allocated(self):
        if PRELOADED:
            self.skipTest("a sanitizer's own memory is larger than any limit of addresses")
        path, size = str(FOLDER / "large.safetensors"), 40 << 30
        header = b'{"w":{"dtype":"F32","shape":[%d,1024],"data_offsets":[0,%d]}}' % (size // 4096, size)
        with open(path, "wb") as file:
            file.write(len(header).to_bytes(8, "little") + header + b" " * 0)
            file.truncate(8 + len(header) + size)
        program = ("import resource, sys, hearth\n"
                   "limit = int(sys.argv[2])\n"
                   "resource.setrlimit(resource.RLIMIT_AS, (limit, limit))\n"
                   "w = hearth.safetensors(sys.argv[1])['w']\n"
                   "print(w.shape)\n")
        ran = subprocess.run([sys.executable, "-B", "-c", program, path, str(size + (8 << 30))], capture_output=True, text=True,
                             env={**os.environ, **PRELOADED})
        os.remove(path)
        self.assertEqual((ran.stdout, ran.returncode), (f"({size // 4096}, 1024)\n", 0), ran.stderr)


class DLPack(Place):
    @classmethod
    def setUpClass(cls):
        cls.f = hearth.load(relu().SerializeToString(), dims={"batch": (1, 8)})
        cls.x = random(3, 4)
        cls.y = cls.f(memoryview(cls.x))  # non-negative
        cls.want = cls.y.tolist()

    def test_both_versions_are_read(self):
        for versioned in (True, False):
            with self.subTest(versioned=versioned):
                y = self.f(Exporter(self.y, versioned=versioned))
                self.assertEqual(y.tolist(), self.want)

    def test_a_capsule_is_used_once(self):
        capsule = self.y.__dlpack__(max_version=(1, 1))
        self.f(Exporter(self.y, capsule))
        with self.refused(ValueError, "input 'x'", "no unused DLPack capsule"):
            self.f(Exporter(self.y, capsule))
        with self.refused(ValueError, "input 'x'", "no unused DLPack capsule"):
            self.f(Exporter(self.y, "text"))

    def test_a_newer_major_version_is_refused(self):
        capsule = self.y.__dlpack__(max_version=(1, 1))
        get = ctypes.pythonapi.PyCapsule_GetPointer
        get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
        pointer = get(capsule, b"dltensor_versioned")
        ctypes.cast(pointer, ctypes.POINTER(ctypes.c_uint32))[0] = 2
        with self.refused(ValueError, "input 'x' is of DLPack version 2; expected 1.x"):
            self.f(Exporter(self.y, capsule))
        ctypes.cast(pointer, ctypes.POINTER(ctypes.c_uint32))[0] = 1

    def test_another_device_is_refused(self):
        with self.refused(ValueError, "input 'x' is on device type 2", "x.cpu()"):
            self.f(Exporter(self.y, device=(2, 0)))

    def test_an_exporters_exception_is_said(self):
        class Broken:
            def __dlpack__(self, **options):
                raise RuntimeError("the reason")
        with self.refused(ValueError, "input 'x': the reason") as refused:
            self.f(Broken())
        self.assertIsInstance(refused.error.__cause__, RuntimeError)

    def test_an_array_says_where_it_is(self):
        self.assertEqual(self.y.__dlpack_device__(), (1, 0))
        with self.refused(ValueError, "stream"):
            self.y.__dlpack__(stream=1)
        with self.refused(ValueError, "dl_device"):
            self.y.__dlpack__(dl_device=(2, 0))


if __name__ == "__main__":
    skipping.main()

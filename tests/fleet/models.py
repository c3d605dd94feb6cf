"""Models that a fleet compiles."""
import onnx
from onnx import TensorProto, helper


def make_model(path, kernels=4, length=100):
    """Sums of rows of different lengths: as many kernels."""
    inputs, steps, outputs = [], [], []
    for i in range(kernels):
        inputs.append(helper.make_tensor_value_info(f"x{i}", TensorProto.FLOAT, [64, length + 16 * i]))
        steps.append(helper.make_node("ReduceMean", [f"x{i}"], [f"y{i}"], axes=[1]))
        outputs.append(helper.make_tensor_value_info(f"y{i}", TensorProto.FLOAT, [64, 1]))
    made = helper.make_model(helper.make_graph(steps, "g", inputs, outputs),
                             opset_imports=[helper.make_opsetid("", 17)])
    made.ir_version = 8
    onnx.save_model(made, str(path))
    return path

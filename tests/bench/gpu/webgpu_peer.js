// One model on ONNX Runtime's WebGPU provider: the least time of six runs, to the result on the host, in us.
//   node webgpu_peer.js MODEL.onnx
const ort = require('onnxruntime-node');

async function main() {
  const session = await ort.InferenceSession.create(process.argv[2], {executionProviders: ['webgpu'], logSeverityLevel: 3});
  const feeds = {};
  for (const input of session.inputMetadata) {
    const values = new Float32Array(input.shape.reduce((a, b) => a * b, 1));
    for (let i = 0; i < values.length; i++) values[i] = ((i * 7919) % 1000) / 1000 - 0.5;
    feeds[input.name] = new ort.Tensor('float32', values, input.shape);
  }
  let least = Infinity;
  for (let i = 0; i < 6; i++) {
    const start = process.hrtime.bigint();
    for (const output of Object.values(await session.run(feeds))) await output.getData();
    least = Math.min(least, Number(process.hrtime.bigint() - start) / 1e3);
  }
  console.log(Math.round(least));
}
main();

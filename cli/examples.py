"""Examples of every verb, at the end of its help."""

from __future__ import annotations

EXAMPLES: dict[str, tuple[str, ...]] = {
    "list": ("mxcast list", "mxcast list profiles", "mxcast list targets --json"),
    "doctor": ("mxcast doctor",),
    "quantize": (
        "mxcast quantize model.safetensors mx.safetensors --format e4m3 --profile nvidia",
        'mxcast quantize model.safetensors mx.safetensors --format e2m1 --include "*.weight" --exclude "*LayerNorm*"',
        "mxcast quantize model.safetensors experts.safetensors --format e2m1 --layout gpt_oss",
    ),
    "dequantize": (
        "mxcast dequantize mx.safetensors back.safetensors",
        "mxcast dequantize experts.safetensors back.safetensors --from gpt_oss",
    ),
    "convert": (
        "mxcast convert mx.safetensors experts.safetensors --layout gpt_oss",
        "mxcast convert experts.safetensors ct.safetensors --from gpt_oss --layout compressed_tensors",
        "mxcast convert experts.safetensors model.gguf --from gpt_oss --layout ggml",
        "mxcast convert model/ converted/ --layout compressed_tensors --experts split --jobs 2",
    ),
    "inspect": (
        "mxcast inspect experts.safetensors",
        "mxcast inspect model.safetensors --as comfy --all --report model.html",
        "mxcast inspect model/",
    ),
    "explain": (
        'mxcast explain e4m3 --profile te --values "1.875, 0x3F880000, nan"',
        "mxcast explain e2m1 --values 0x04600001",
        'mxcast explain e5m2 --op decode --profile te --scale 0 --codes "0x01, 0x7C"',
        'mxcast explain e4m3 --op cast --values "1.5, 0x3F800001, nan"',
        'mxcast explain nvfp4 --op decode --profile nvfp4_ao --scale 0x38 --tensor-scale 0.5 --codes "2, 0xF"',
        'mxcast explain nvfp4 --profile nvfp4_te --amax 10 --values "0.1, -0.25, 3.3"',
    ),
    "compare": (
        "mxcast compare nvidia te --format e4m3",
        "mxcast compare ocp ocp:scale_rule=ceil --format e2m1",
        "mxcast compare ocp ggml --op decode --format e2m1",
        "mxcast compare ptx ml_dtypes --op cast --format ue8m0 --set source=bf16",
        "mxcast compare nvfp4_te nvfp4_ao --format nvfp4",
        "mxcast compare nvfp4_te nvfp4_ao --format nvfp4 --op decode --set destination=fp32",
    ),
    "emit": (
        "mxcast emit e4m3 --profile nvidia --target xcu -o build",
        "mxcast emit e4m3 --target ecp5 --set latency=4 --name my_converter -o build",
        "mxcast emit e4m3,e5m2 --set scale_rule=floor,ceil -o build",
        "mxcast emit e4m3 --op decode --set destination=bf16 -o build",
        "mxcast emit ue8m0 --op cast --profile ptx --set lanes=2 -o build",
    ),
    "verify": (
        "mxcast verify e4m3 --blocks 100000",
        "mxcast verify e4m3 --tensors model.safetensors",
        "mxcast verify e5m2 --op decode --profile idma",
        "mxcast verify e4m3 --op cast --set source=bf16",
    ),
    "test": ("mxcast test e2m1", "mxcast test e4m3 --sim icarus --waves"),
    "prove": (
        "mxcast prove e4m3 --profile nvidia",
        "mxcast prove e4m3 --netlist ecp5",
        "mxcast prove --rtl build/mine/rtl/mine.v",
    ),
    "mutate": ("mxcast mutate e4m3 --mutants 50",),
    "check-rtl": (
        "mxcast check-rtl theirs.sv --top conv --format e4m3 --profile nvidia "
        "--map x=in_{i} --map p=out_{i} --map scale=s",
    ),
    "identify": (
        "mxcast identify mylib.mx:encode --format e4m3",
        "mxcast identify ./quantize.py:to_mx --format e2m1 --profile nvidia",
        "mxcast identify ./libmx.so:encode_e4m3 --format e4m3",
        "mxcast identify torchao_floor --format e4m3",
        "mxcast identify ml_dtypes --format e5m2 --op cast",
        "mxcast identify --input weights.safetensors --output quantized.safetensors",
        "mxcast identify mylib.mx:stochastic --format e4m3 --samples 10000",
    ),
    "vectors": (
        "mxcast vectors e4m3 --profile nvidia",
        "mxcast vectors e2m1 --op decode -o sets",
        "mxcast vectors --check vectors/mxfp8_e4m3-encode-nvidia-small",
    ),
    "synth": (
        "mxcast synth all --target ecp5",
        "mxcast synth e4m3 --liberty cells.lib",
        "mxcast synth e4m3 --pnr --seeds 5",
    ),
    "explore": ("mxcast explore", "mxcast explore formats --target ecp5 --tensors model.safetensors"),
}


def epilog(verb: str) -> str:
    """The examples of a verb for typer: one paragraph each."""
    return "\n\n".join(["Examples:", *EXAMPLES[verb]])

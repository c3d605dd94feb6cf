"""One table and one JSON of what run.sh measured.

    python3 table.py LOGS cuda vulkan > table.md      # and LOGS/table.json
"""
import json
import pathlib
import sys


def read(path):
    try:
        return json.loads(path.read_text())
    except (OSError, ValueError):
        return {}


def main():
    logs, devices = pathlib.Path(sys.argv[1]), sys.argv[2:]
    peer = read(logs / "torch.json")
    names = sorted({path.stem.split("_", 2)[2] for path in logs.glob("run_*.json")})
    rows = []
    for name in names:
        row = {"model": name, "torch_us": peer.get(name, {}).get("us")}
        for device in devices:
            run = read(logs / f"run_{device}_{name}.json")
            row[f"{device}_us"] = run.get("replay_us", {}).get("p50")
            if not run:
                row[f"{device}_error"] = (logs / f"run_{device}_{name}.err").read_text().strip()[-300:]
        rows.append(row)
    found = {"gpu": (logs / "gpu.txt").read_text().strip() if (logs / "gpu.txt").exists() else "",
             "devices": read(logs / "devices.json").get("devices", []), "torch": peer.get("torch"),
             "tests": (logs / "summary.txt").read_text().splitlines(), "rows": rows}
    (logs / "table.json").write_text(json.dumps(found, indent=1))
    print("| model | torch, us | " + " | ".join(f"{d}, us | of torch" for d in devices) + " |")
    print("|---" * (2 + 2 * len(devices)) + "|")
    for row in rows:
        cells = [row["model"], f"{row['torch_us']:.1f}" if row["torch_us"] else "-"]
        for device in devices:
            us = row[f"{device}_us"]
            is_number = isinstance(us, (int, float))
            cells += [f"{us:.1f}" if is_number else "failed",
                      f"{row['torch_us'] / us:.2f}" if is_number and row["torch_us"] else "-"]
        print("| " + " | ".join(cells) + " |")


if __name__ == "__main__":
    main()

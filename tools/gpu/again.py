"""Programs that failed before, again: tools/gpu/visit.sh again. They lie in
build/gpu/again, as failures.tar had them."""

import concurrent.futures
import sys

import failures


def one(path):
    return path, *failures.call([sys.executable if path.suffix == ".py" else "sh", path], 40)


def main():
    failures.ends_with_its_processes()
    folder = failures.ROOT / "build" / "gpu" / "again"
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        for path, status, text, took in pool.map(one, sorted(p for p in folder.rglob("*") if p.is_file())):
            print(f"{path.relative_to(folder)}: {failures.told(status)}, {took:.1f} s", flush=True)
            if status:
                print(text[-1500:], flush=True)


if __name__ == "__main__":
    main()

"""Known holes in what is installed, by pip-audit; in words where its data cannot be reached.

pip-audit ends well if it could look nothing up. Here that is said; it is an error where
HIGHRELIEF_AUDIT_REQUIRED is set, as it should be for a release.
"""

import json
import os
import subprocess
import sys
import sysconfig
from pathlib import Path


def main() -> int:
    """Return 0 if no hole is known, or none could be looked up; 1 otherwise."""
    command = [str(Path(sysconfig.get_path("scripts")) / "pip-audit"), "--path", sys.argv[1], "--format=json"]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    try:
        packages = json.loads(ended.stdout)["dependencies"]
    except (KeyError, ValueError):
        packages = []
    known = [each for each in packages if "vulns" in each]
    holes = [(each, hole) for each in known for hole in each["vulns"]]
    for package, hole in holes:
        fixed = ", ".join(hole["fix_versions"]) or "no version"
        print(f"{package['name']} {package['version']}: {hole['id']}, mended in {fixed}.")
    if holes:
        return 1
    if not known:
        said = [each.get("skip_reason", "") for each in packages] or ended.stderr.strip().splitlines()[-1:]
        print(f"NOT AUDITED: pip-audit could look up none of {len(packages)} packages here: {said[:1]}")
        print("Run `make audit` where there is a network before a release.")
        return int(bool(os.environ.get("HIGHRELIEF_AUDIT_REQUIRED")))
    others = len(packages) - len(known)
    print(f"No hole is known in {len(known)} packages; {others} others could not be looked up.")
    return 0


if __name__ == "__main__":
    sys.exit(main())

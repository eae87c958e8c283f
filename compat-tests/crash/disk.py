"""A small disk of its own: ext4 in a file behind a loop device, which can be cut like by a power failure, or be full."""

import fcntl
import os
import struct
import subprocess
from pathlib import Path

# EXT4_IOC_SHUTDOWN and its way NOLOGFLUSH: what the journal and the caches hold is not written any more.
SHUTDOWN, NO_LOG_FLUSH = 0x8004587D, 2


def command(*words):
    done = subprocess.run(list(map(str, words)), capture_output=True, text=True)
    assert done.returncode == 0, f"{' '.join(map(str, words))}: {done.stderr.strip()}"
    return done.stdout


class LoopDisk:
    """Mounted at `folder`/disk; needs root and loop devices."""

    def __init__(self, folder, mebibytes):
        self.image, self.mount = Path(folder) / "disk.img", Path(folder) / "disk"
        self.mount.mkdir()
        with open(self.image, "wb") as image:
            image.truncate(mebibytes << 20)
        # No lazy work of the file system, so that its size is what it is; a journal as large as ext4 would take.
        command("mkfs.ext4", "-q", "-F", "-m", "0", "-E", "lazy_itable_init=0,lazy_journal_init=0", self.image)
        self.attach()

    def attach(self):
        command("mount", "-o", "loop", self.image, self.mount)

    def detach(self):
        # Whoever held files is dead; the kernel may take a moment to let them go.
        for attempt in range(100):
            done = subprocess.run(["umount", self.mount], capture_output=True, text=True)
            if done.returncode == 0:
                return
            subprocess.run(["sleep", "0.02"], check=True)
        raise AssertionError(f"umount: {done.stderr.strip()}")

    def cut(self):
        """The power goes: nothing reaches the disk from here on."""
        place = os.open(self.mount, os.O_RDONLY)
        try:
            fcntl.ioctl(place, SHUTDOWN, struct.pack("I", NO_LOG_FLUSH))
        finally:
            os.close(place)

    def write_some_back(self, rng):
        """The kernel writes dirty pages when it likes: here a random few files, in random order."""
        # Files come and go meanwhile; `walk` passes over what is no longer there.
        files = sorted(os.path.join(folder, name) for folder, _folders, names in os.walk(self.mount) for name in names)
        for path in rng.sample(files, min(len(files), rng.randint(1, 40))):
            try:
                file = os.open(path, os.O_RDWR)
            except FileNotFoundError:
                continue
            try:
                os.fdatasync(file)
            finally:
                os.close(file)

    def check(self):
        """The file system itself must have come back whole."""
        command("fsck.ext4", "-f", "-n", self.image)

    def fill(self):
        """Takes all the room that is left; `free` gives it back."""
        balloon = os.open(self.mount / "balloon", os.O_CREAT | os.O_WRONLY)
        try:
            while True:
                left = os.statvfs(self.mount)
                room = left.f_bavail * left.f_bsize
                if room <= 0:
                    return
                try:
                    os.posix_fallocate(balloon, os.fstat(balloon).st_size, max(left.f_bsize, room // 2))
                except OSError:
                    if room <= 4 * left.f_bsize:
                        return
                    os.posix_fallocate(balloon, os.fstat(balloon).st_size, left.f_bsize)
        except OSError:
            pass
        finally:
            os.close(balloon)

    def free(self):
        (self.mount / "balloon").unlink(missing_ok=True)

    def remove(self):
        if os.path.ismount(self.mount):
            self.detach()


def usable():
    """Why this machine cannot do it; `None` when it can."""
    if os.geteuid() != 0:
        return "needs root"
    if not os.path.exists("/dev/loop-control"):
        return "needs loop devices"
    return None

"""System call numbers that the sandbox refuses or passes, for x86_64 and aarch64.

From the kernel's asm/unistd_64.h (x86_64) and asm-generic/unistd.h (aarch64); `-` where there is none.
"""

from __future__ import annotations

_TABLE = """
accept 43 202, accept4 288 242, acct 163 89, add_key 248 217, adjtimex 159 171, bind 49 200, bpf 321 280,
brk 12 214, chmod 90 -, chown 92 -, chroot 161 51, clock_adjtime 305 266, clock_getres 229 114,
clock_gettime 228 113, clock_nanosleep 230 115, clock_settime 227 112, clone 56 220, clone3 435 435,
close 3 57, connect 42 203, creat 85 -, delete_module 176 106, execve 59 221, execveat 322 281, exit 60 93,
exit_group 231 94, fanotify_init 300 262, fchmod 91 52, fchmodat 268 53, fchmodat2 452 452, fchown 93 55,
fchownat 260 54, fcntl 72 25, finit_module 313 273, fork 57 -, fsconfig 431 431, fsmount 432 432,
fsopen 430 430, fspick 433 433, fstat 5 80, futex 202 98, getcpu 309 168, getdents 78 -, getdents64 217 61,
getegid 108 177, geteuid 107 175, getgid 104 176, getpid 39 172, getppid 110 173, getrandom 318 278,
getrlimit 97 163, getrusage 98 165, gettid 186 178, gettimeofday 96 169, getuid 102 174,
init_module 175 105, inotify_init 253 -, inotify_init1 294 26, io_uring_enter 426 426,
io_uring_register 427 427, io_uring_setup 425 425, ioctl 16 29, ioprio_set 251 30, kcmp 312 272,
kexec_file_load 320 294, kexec_load 246 104, keyctl 250 219, kill 62 129, lchown 94 -, link 86 -,
linkat 265 37, listen 50 201, lseek 8 62, madvise 28 233, memfd_create 319 279, memfd_secret 447 447,
migrate_pages 256 238, mkdir 83 -, mkdirat 258 34, mknod 133 -, mknodat 259 33, mmap 9 222,
modify_ldt 154 -, mount 165 40, mount_setattr 442 442, move_mount 429 429, move_pages 279 239,
mprotect 10 226, mq_notify 244 184, mq_open 240 180, mremap 25 216, msgctl 71 187, msgget 68 186,
munmap 11 215, name_to_handle_at 303 264, nanosleep 35 101, open 2 -, open_by_handle_at 304 265,
open_tree 428 428, openat 257 56, openat2 437 437, perf_event_open 298 241, personality 135 92,
pidfd_getfd 438 438, pidfd_open 434 434, pidfd_send_signal 424 424, pivot_root 155 41, poll 7 -,
ppoll 271 73, prctl 157 167, prlimit64 302 261, process_madvise 440 440, process_mrelease 448 448,
process_vm_readv 310 270, process_vm_writev 311 271, ptrace 101 117, quotactl 179 60, read 0 63,
readlink 89 -, readlinkat 267 78, reboot 169 142, recvfrom 45 207, recvmsg 47 212, rename 82 -,
renameat 264 38, renameat2 316 276, request_key 249 218, restart_syscall 219 128, rmdir 84 -, rseq 334 293,
rt_sigaction 13 134, rt_sigprocmask 14 135, rt_sigqueueinfo 129 138, rt_sigreturn 15 139,
rt_tgsigqueueinfo 297 240, sched_getaffinity 204 123, sched_setaffinity 203 122, sched_setattr 314 274,
sched_setparam 142 118, sched_setscheduler 144 119, sched_yield 24 124, seccomp 317 277, semctl 66 191,
semget 64 190, sendmsg 46 211, sendto 44 206, set_robust_list 273 99, setdomainname 171 162, setgid 106 144,
setgroups 116 159, sethostname 170 161, setns 308 268, setpgid 109 154, setpriority 141 140,
setregid 114 143, setresgid 119 149, setresuid 117 147, setreuid 113 145, setrlimit 160 164, setsid 112 157,
settimeofday 164 170, setuid 105 146, setxattr 188 5, shmat 30 196, shmctl 31 195, shmget 29 194,
sigaltstack 131 132, socket 41 198, socketpair 53 199, swapoff 168 225, swapon 167 224, symlink 88 -,
symlinkat 266 36, sysinfo 99 179, syslog 103 116, tgkill 234 131, time 201 -, timer_create 222 107,
times 100 153, tkill 200 130, truncate 76 45, umount2 166 39, unlink 87 -, unlinkat 263 35, unshare 272 97,
userfaultfd 323 282, utimensat 280 88, vfork 58 -, write 1 64,
writev 20 66,
"""

_AUDIT_ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
"""AUDIT_ARCH_X86_64 and AUDIT_ARCH_AARCH64 of linux/audit.h."""


def _parse() -> dict[str, dict[str, int]]:
    numbers: dict[str, dict[str, int]] = {"x86_64": {}, "aarch64": {}}
    for entry in _TABLE.replace("\n", " ").split(","):
        if not entry.strip():
            continue
        name, *columns = entry.split()
        for machine, text in zip(("x86_64", "aarch64"), columns, strict=True):
            if text != "-":
                numbers[machine][name] = int(text)
    return numbers


NUMBERS = _parse()
"""Architecture (as in `os.uname().machine`) -> name -> number."""


def audit_architecture(machine: str) -> int:
    """The AUDIT_ARCH constant that a filter compares. Raises KeyError for an unknown architecture."""
    return _AUDIT_ARCHITECTURES[machine]

package sandbox

import "golang.org/x/sys/unix"

const auditArch = unix.AUDIT_ARCH_AARCH64

// allowedHere are calls that only this architecture has.
var allowedHere []int

// deniedHere are calls that only this architecture has and that LibreOffice may not make.
var deniedHere []int

package sandbox

import "golang.org/x/sys/unix"

const auditArch = unix.AUDIT_ARCH_AARCH64

// allowedHere are allowed calls specific to this architecture.
var allowedHere []int

// deniedHere are calls specific to this architecture that LibreOffice must not make.
var deniedHere []int

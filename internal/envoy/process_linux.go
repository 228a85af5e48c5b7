package envoy

import (
	"os/exec"
	"syscall"
)

// dieWithParent has the kernel kill the child when this process ends in whatever way. In its own
// process group the child does not see the terminal's Ctrl-C: stopping it is for this process.
func dieWithParent(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
}

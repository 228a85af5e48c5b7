//go:build !linux

package envoy

import "os/exec"

// dieWithParent: only Linux can promise it.
func dieWithParent(*exec.Cmd) {}

//go:build linux || darwin || freebsd || netbsd || openbsd

package fault

import (
	"net"
	"syscall"
)

// hasEnded reports whether the other end has closed the connection and all its
// data has been read. It asks the kernel, which knows of the end earlier than
// the goroutine that reads: in a busy process that goroutine may be tens of
// milliseconds late.
func hasEnded(conn *net.TCPConn) bool {
	raw, err := conn.SyscallConn()
	if err != nil {
		return true
	}
	ended := false
	err = raw.Control(func(fd uintptr) {
		var b [1]byte
		n, _, err := syscall.Recvfrom(int(fd), b[:], syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
		ended = n == 0 && err == nil || err == syscall.ECONNRESET
	})
	return ended || err != nil
}

package session

import (
	"strconv"
)

// LockAccount exhausts an account's allowance of wrong passwords, from as many addresses as necessary.
func (s *Sessions) LockAccount(name string) {
	for i := 0; ; i++ {
		try, wait := s.throttle.Begin(name, "address "+strconv.Itoa(i))
		if wait > 0 {
			return
		}
		try.Failed()
	}
}

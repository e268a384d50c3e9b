package zk

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"strings"

	"concordat"
)

// Account is a user under ZooKeeper's digest scheme. Printing or logging it shows only the user name.
type Account struct {
	User     string
	password string
}

// AccountVariable is the environment variable that contains "user:password".
const AccountVariable = "CONCORDAT_ZOOKEEPER_ACCOUNT"

// NewAccount parses "user:password". It fails with concordat.ErrInvalid, without including the text.
func NewAccount(text string) (Account, error) {
	user, password, ok := strings.Cut(strings.TrimRight(text, "\r\n"), ":")
	if !ok || user == "" || password == "" || len(text) > 1024 || strings.ContainsAny(user+password, "\r\n\x00") {
		return Account{}, concordat.Invalidf("the ZooKeeper account must have the form user:password, on one line")
	}
	return Account{user, password}, nil
}

// ReadAccount reads the account from the file at path. If path is empty, it returns the account from the environment, or the zero Account
// if there is none. The file must not be readable by everyone. Errors: concordat.ErrInvalid.
func ReadAccount(path string) (Account, error) {
	if path == "" {
		if text := os.Getenv(AccountVariable); text != "" {
			return NewAccount(text)
		}
		return Account{}, nil
	}
	info, err := os.Stat(path)
	if err == nil && info.Mode().Perm()&0o007 != 0 {
		return Account{}, concordat.Invalidf("%s can be read by every user of this machine: run chmod o= on the file", path)
	}
	if err == nil && info.Size() > 4096 {
		return Account{}, concordat.Invalidf("%s is too large (%d bytes)", path, info.Size())
	}
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return Account{}, concordat.Invalidf("%w", err)
	}
	if err != nil {
		return Account{}, err
	}
	return NewAccount(string(b))
}

// String returns the user name.
func (a Account) String() string { return a.User }

// GoString returns the user name.
func (a Account) GoString() string { return a.User }

// Format writes the user name for any verb.
func (a Account) Format(f fmt.State, _ rune) { fmt.Fprint(f, a.User) }

// LogValue returns the user name.
func (a Account) LogValue() slog.Value { return slog.StringValue(a.User) }

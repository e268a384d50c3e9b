package config

import (
	"errors"
	"net/url"
	"strings"
	"unicode"

	"concordat/crypto"
)

// Store configures the location of the store.
type Store struct {
	URL          string // address of a PostgreSQL database, without a password; empty means a file in the site's folder
	PasswordFile string // file with the password in its first line; empty if there is none
	Password     Secret // from the environment; if empty, see PasswordFile
}

// Backup configures backups.
type Backup struct {
	Recipients []string // recipients of encrypted backups, in the syntax of crypto.ParseRecipients
}

// StorePasswordEnv is the variable with the password of the database.
const StorePasswordEnv = "CONCORDAT_STORE_PASSWORD"

var storeKeys = []Key{
	databaseAddress("store.url", func(c *Config) *string { return &c.Store.URL },
		"PostgreSQL database, such as postgres://concordat@db.example.edu/concordat?sslmode=verify-full. Empty: a SQLite file."),
	text("store.password_file", "", restart, func(c *Config) *string { return &c.Store.PasswordFile },
		"File whose first line is the password of the database, readable by the site only. $"+StorePasswordEnv+" overrides it."),
	recipients("backup.recipients", func(c *Config) *[]string { return &c.Backup.Recipients },
		"Recipients to encrypt backups to, in the form that age-keygen -pq prints. Empty: the passphrase chosen for backups."),
}

// recipients is a list of recipients of encrypted files.
func recipients(name string, field func(*Config) *[]string, doc string) Key {
	k := list(name, "", live, field, doc)
	k.Type = "list of age recipients"
	set := k.set
	k.set = func(c *Config, s string) error {
		if err := set(c, s); err != nil || len(*field(c)) == 0 {
			return err
		}
		_, err := crypto.ParseRecipients(*field(c))
		return err
	}
	return k
}

// databaseAddress is the type of a key with the address of a database. Its secrets are in other keys.
func databaseAddress(name string, field func(*Config) *string, doc string) Key {
	return Key{Name: name, Type: "postgres:// address", Live: restart, Doc: doc,
		set: func(c *Config, s string) error {
			if s == "" {
				*field(c) = ""
				return nil
			}
			u, err := url.Parse(s)
			switch {
			case len(s) > 1000 || strings.ContainsFunc(s, unicode.IsControl):
				return errors.New("longer than 1000 bytes, or contains unprintable characters")
			case err != nil || u.Scheme != "postgres" && u.Scheme != "postgresql": // its text may contain a password
				return errors.New("invalid address; want an address such as postgres://user@host/database")
			}
			q := u.Query()
			if _, has := u.User.Password(); has || q.Has("password") || q.Has("sslpassword") {
				return errors.New("must not contain a password: use store.password_file or $" + StorePasswordEnv)
			}
			*field(c) = s
			return nil
		},
		get: func(c *Config) string { return *field(c) }}
}

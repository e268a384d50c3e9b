package main

import (
	"testing"

	"concordat/instance/config"
	"concordat/store"
)

// TestLoginRoles: the roles of the configuration are those of the store.
func TestLoginRoles(t *testing.T) {
	db, err := store.Open(t.Context(), t.TempDir()+"/site.db")
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}()
	for _, r := range config.Roles() {
		if err := db.CreateAccount(t.Context(), store.Account{Name: r, Role: store.Role(r)}); err != nil {
			t.Error(err)
		}
	}
}

package store_test

import (
	"testing"

	"concordat/internal/storetest"
	"concordat/store"
)

func TestPostgres(t *testing.T) {
	s := storetest.Postgres(t)
	storetest.Run(t, func(t *testing.T) storetest.Place {
		url := s.Schema(t)
		return func(o store.Options) (*store.DB, error) { return o.Open(t.Context(), url) }
	})
}

package instance

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"concordat"
	"concordat/crypto"
	"concordat/crypto/keyfile"
	"concordat/store"
)

// Partners see all nodes as one site. A change that one node makes to the keystore, for example to the week's keys on the card, must
// reach the others immediately. Therefore the store contains the keystore, encrypted like its file, and each node has a copy; the secret
// that opens it is never in the store.

// Shared returns the store in which the site's nodes share the keystore, or nil for a site with one machine.
func (ks *Keys) Shared() *store.DB {
	if !ks.live.Now().Clustered() {
		return nil
	}
	return ks.db
}

// Sync updates this node's copy of the keystore from the shared one. The first node with a keystore shares it with the others.
func (ks *Keys) Sync(ctx context.Context) error {
	db := ks.Shared()
	if db == nil {
		return nil
	}
	version, err := db.KeystoreVersion(ctx)
	if err != nil {
		return err
	}
	if version > 0 && version == ks.copied.Load() {
		return nil
	}
	path := filepath.Join(ks.dir, KeystoreName)
	own, err := keyfile.Bytes(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if version == 0 {
		if own == nil {
			return nil
		}
		if _, err := db.PutKeystore(ctx, 0, own); err != nil && !errors.Is(err, concordat.ErrChanged) {
			return err
		}
	}
	version, content, err := db.Keystore(ctx)
	if err == nil && !bytes.Equal(content, own) {
		err = keyfile.Replace(path, content)
	}
	if err == nil {
		ks.copied.Store(version)
	}
	return err
}

// share makes this node's keystore the shared one, replacing any other.
func (k *Keystore) share(ctx context.Context) error {
	if k.Shared == nil {
		return nil
	}
	version, err := k.Shared.KeystoreVersion(ctx)
	if err != nil {
		return err
	}
	b, err := keyfile.Bytes(k.Path)
	if err == nil {
		_, err = k.Shared.PutKeystore(ctx, version, b)
	}
	return err
}

// updateShared is Update for a shared keystore.
func (k *Keystore) updateShared(ctx context.Context, change func(*crypto.Identity) (*crypto.Identity, error)) (*crypto.Identity, error) {
	for {
		version, b, err := k.Shared.Keystore(ctx)
		if errors.Is(err, concordat.ErrNotFound) {
			version = 0
			b, err = keyfile.Bytes(k.Path)
		}
		if err != nil {
			return nil, err
		}
		old, err := crypto.Unlock(b, k.Secret)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", k.Path, err)
		}
		id, err := change(old)
		if err != nil {
			return nil, err
		}
		if id != old || version == 0 {
			if b, err = id.Lock(k.later(), rand.Reader); err != nil {
				return nil, err
			}
			if _, err = k.Shared.PutKeystore(ctx, version, b); errors.Is(err, concordat.ErrChanged) {
				continue // another node was faster
			}
			if err != nil {
				return nil, err
			}
		}
		return id, keyfile.Replace(k.Path, b)
	}
}

package partners

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"sync"

	"concordat"
	"concordat/crypto/keyfile"
	"concordat/site/answer"
)

// followed is this node's position in the fingerprint set of an epoch, stored in a file next to the set.
type followed struct {
	path string

	mu sync.Mutex // guards the fields below
	at map[concordat.LibraryID]int64
}

// followed returns the node's position, or nil if this process alone has the set.
func (p *Server) followed(e concordat.Epoch) (answer.Followed, error) {
	if !p.client.o.Config.Clustered() {
		return nil, nil
	}
	f := &followed{path: EpochFolder(p.client.o.Dir, e) + FollowedEnd, at: map[concordat.LibraryID]int64{}}
	b, err := os.ReadFile(f.path)
	if errors.Is(err, os.ErrNotExist) {
		return f, nil
	}
	if err == nil && json.Unmarshal(b, &f.at) != nil {
		err = fmt.Errorf("%s: %w", f.path, concordat.ErrCorrupt)
	}
	return f, err
}

// FollowedEnd is the suffix of the file next to a fingerprint set's folder; the file is removed with the folder.
const FollowedEnd = ".followed.json"

// Position implements site.Followed.
func (f *followed) Position(lib concordat.LibraryID) (int64, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.at[lib], nil
}

// SetPosition implements site.Followed.
func (f *followed) SetPosition(lib concordat.LibraryID, seq int64) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.at[lib] = seq
	b, err := json.Marshal(f.at)
	if err != nil {
		return err
	}
	return keyfile.Replace(f.path, b)
}

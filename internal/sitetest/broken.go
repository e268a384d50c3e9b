package sitetest

import (
	"context"
	"errors"
	"sync"

	"concordat"
)

// ErrIndex is the error of a broken index.
var ErrIndex = errors.New("the index is broken")

// BrokenIndex is an index that fails one scripted call without doing anything.
type BrokenIndex struct {
	concordat.Index

	mu    sync.Mutex // guards the fields below
	calls int        // number of calls since Begin
	Fail  int        // number of the call that fails, from 0; none if negative
}

// Begin resets the count of calls to 0 and makes the given call fail.
func (b *BrokenIndex) Begin(fail int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.calls, b.Fail = 0, fail
}

// Made returns the number of calls since Begin.
func (b *BrokenIndex) Made() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.calls
}

func (b *BrokenIndex) fails() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.calls++
	if b.calls-1 == b.Fail {
		return ErrIndex
	}
	return nil
}

func (b *BrokenIndex) Match(ctx context.Context, q *concordat.Query) (*concordat.Answer, error) {
	if err := b.fails(); err != nil {
		return nil, err
	}
	return b.Index.Match(ctx, q)
}

func (b *BrokenIndex) SearchText(ctx context.Context, q *concordat.TextQuery) (*concordat.TextAnswer, error) {
	if err := b.fails(); err != nil {
		return nil, err
	}
	return b.Index.SearchText(ctx, q)
}

func (b *BrokenIndex) Put(ctx context.Context, ps ...*concordat.Profile) error {
	if err := b.fails(); err != nil {
		return err
	}
	return b.Index.Put(ctx, ps...)
}

func (b *BrokenIndex) Document(ctx context.Context, r concordat.Ref) (*concordat.Document, error) {
	if err := b.fails(); err != nil {
		return nil, err
	}
	return b.Index.Document(ctx, r)
}

package store_test

import (
	"errors"
	"sync"
	"testing"
	"time"

	"concordat"
	"concordat/store"
)

func testSpend(t *testing.T, p place) {
	db, c := openPlace(t, p)
	ctx := t.Context()
	x := store.Spending{Partner: "north", Library: "a", Kind: "k", Amount: 6,
		Windows: []store.Window{{Within: 24 * time.Hour, Most: 10}, {Within: time.Hour, Most: 8}}}
	left, err := db.Answers.Spend(ctx, x)
	must(t, err)
	if left[0] != 2 {
		t.Errorf("left %v, want 2", left)
	}
	over := func(x store.Spending, left int, retry time.Time) {
		t.Helper()
		_, err := db.Answers.Spend(ctx, x)
		var o *store.Overspent
		if !errors.As(err, &o) || !errors.Is(err, concordat.ErrRefused) || o.Left != left || !o.Retry.Equal(retry) {
			t.Errorf("got %+v (%v), want %d left and %s", o, err, left, retry)
		}
	}
	x.Amount = 3
	over(x, 2, start.Add(time.Hour+store.SpendSlot))
	c.move(time.Hour + store.SpendSlot)
	if left, err = db.Answers.Spend(ctx, x); err != nil || left[0] != 1 {
		t.Errorf("an hour later got %v, %v; want 1 left of the day", left, err)
	}
	over(x, 1, start.Add(24*time.Hour+store.SpendSlot))
	x.Amount = 11
	over(x, 1, time.Time{})
	// Charges succeed all together or not at all, and each limit is separate.
	other := x
	other.Library, other.Amount, x.Amount = "b", 1, 5
	if _, err = db.Answers.Spend(ctx, other, x); err == nil {
		t.Error("a spending that does not fit is charged")
	}
	other.Amount = 8
	if left, err = db.Answers.Spend(ctx, other); err != nil || left[0] != 0 {
		t.Errorf("got %v, %v: the refused call charged", left, err)
	}
	document := x
	document.Document, document.Amount = "d", 8
	must2(t)(db.Answers.Spend(ctx, document))
	x.Amount = 0
	x.Windows = []store.Window{{Within: 24 * time.Hour, Most: 3}} // the limit is now below the amount spent
	if left, err = db.Answers.Spend(ctx, x); err != nil || left[0] != 0 {
		t.Errorf("asking for what is left gives %v, %v", left, err)
	}
	x.Windows = []store.Window{{Within: time.Hour, Most: -1}}
	if left, err = db.Answers.Spend(ctx, x); err != nil || left[0] >= 0 {
		t.Errorf("without a limit got %v, %v", left, err)
	}
	x.Amount = -1
	_, err = db.Answers.Spend(ctx, x)
	wantErr(t, err, concordat.ErrInvalid)
	must(t, db.Answers.ForgetSpent(ctx, c.now().Add(time.Hour)))
	x.Amount, x.Windows = 0, []store.Window{{Within: 24 * time.Hour, Most: 10}}
	if left, err = db.Answers.Spend(ctx, x); err != nil || left[0] != 10 {
		t.Errorf("forgotten, yet %v left, %v", left, err)
	}
}

func must2(t *testing.T) func([]int, error) {
	return func(_ []int, err error) { t.Helper(); must(t, err) }
}

// testSpendConcurrent: callers in two processes never exceed a limit together.
func testSpendConcurrent(t *testing.T, p place) {
	db, _ := openPlace(t, p)
	other, err := p(store.Options{Now: func() time.Time { return start }})
	must(t, err)
	defer other.Close()
	var mu sync.Mutex
	spent := 0
	var wg sync.WaitGroup
	for w := range 6 {
		own := []*store.DB{db, other}[w%2]
		wg.Go(func() {
			for range 10 {
				_, err := own.Answers.Spend(t.Context(), store.Spending{Partner: "n", Library: "a", Kind: "k", Amount: 7,
					Windows: []store.Window{{Within: time.Hour, Most: 100}}})
				mu.Lock()
				if err == nil {
					spent += 7
				} else if !errors.Is(err, concordat.ErrRefused) {
					t.Error(err)
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	if spent != 98 {
		t.Errorf("spent %d of 100 in sevens, want 98", spent)
	}
}

package chromium

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/chromedp/cdproto"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/dom"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// place is the middle of an element's first box, in pixels.
type place struct {
	X, Y  float64
	Hit   bool   // a click there reaches the element
	Cover string // beginning of the topmost element there
}

// placeOf scrolls to an element and returns its place. It is called again and again, because a page without scripts has no timers either.
const placeOf = `function() {
	this.scrollIntoView({ block: "center", inline: "center", behavior: "instant" })
	const box = this.getClientRects()[0]
	if (!box) return { Cover: "nothing: the element has no box" }
	const at = { X: box.x + box.width / 2, Y: box.y + box.height / 2 }
	const top = document.elementFromPoint(at.X, at.Y)
	return { ...at, Hit: this.contains(top), Cover: top?.outerHTML.slice(0, 200) ?? "nothing" }
}`

// Click clicks the first element that the selector finds, with the mouse. Unlike chromedp.Click, it first waits until the element no longer
// moves: while a page is still changing, which takes long on a busy machine, a click lands beside the place where the element was. It
// fails if the element still moves, or is covered, after two minutes.
func Click(selector string, options ...chromedp.QueryOption) chromedp.Action {
	return chromedp.ActionFunc(func(ctx context.Context) error {
		for end := time.Now().Add(2 * time.Minute); ; {
			err := chromedp.QueryAfter(selector, func(ctx context.Context, _ runtime.ExecutionContextID, found ...*cdp.Node) error {
				if len(found) == 0 {
					return errors.New("no element to click")
				}
				return click(ctx, found[0].NodeID, end)
			}, append(options, chromedp.NodeVisible)...).Do(ctx)
			// The page was replaced between two steps, and the new one may have the element too.
			if gone := (*cdproto.Error)(nil); !errors.As(err, &gone) || time.Now().After(end) {
				return err
			}
		}
	})
}

// click clicks an element as soon as it was found in the same place twice.
func click(ctx context.Context, id cdp.NodeID, end time.Time) error {
	object, err := dom.ResolveNode().WithNodeID(id).Do(ctx)
	if err != nil {
		return err
	}
	var last place
	for {
		var now place
		if err := chromedp.CallFunctionOn(placeOf, &now, func(p *runtime.CallFunctionOnParams) *runtime.CallFunctionOnParams {
			return p.WithObjectID(object.ObjectID).WithReturnByValue(true)
		}).Do(ctx); err != nil {
			return err
		}
		if now.Hit && now == last {
			return chromedp.MouseClickXY(now.X, now.Y).Do(ctx)
		}
		if time.Now().After(end) {
			return fmt.Errorf("the element moves or is covered by %s", now.Cover)
		}
		last = now
		if err := chromedp.Sleep(30 * time.Millisecond).Do(ctx); err != nil {
			return err
		}
	}
}

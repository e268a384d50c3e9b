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

// still waits until an element has stayed in the same place for two looks and nothing covers the middle of its first box, and returns that
// point in pixels. After two minutes it fails.
const still = `function() {
	this.scrollIntoView({ block: "center", inline: "center", behavior: "instant" })
	return new Promise((done, fail) => {
		const end = Date.now() + 2 * 60 * 1000
		let last = {}
		const look = () => {
			const box = this.getClientRects()[0]
			const at = box ? { X: box.x + box.width / 2, Y: box.y + box.height / 2 } : {}
			const top = box && document.elementFromPoint(at.X, at.Y)
			if (box && at.X === last.X && at.Y === last.Y && this.contains(top))
				return done(at)
			if (Date.now() > end)
				return fail(new Error("it moves or is covered by " + (top?.outerHTML ?? "nothing").slice(0, 200)))
			last = at
			setTimeout(look, 30)
		}
		look()
	})
}`

// Click clicks the first element that the selector finds, with the mouse. Unlike chromedp.Click, it first waits until the element no longer
// moves: while a page is still changing, which takes long on a busy machine, a click lands beside the place where the element was.
func Click(selector string, options ...chromedp.QueryOption) chromedp.Action {
	return chromedp.ActionFunc(func(ctx context.Context) error {
		for end := time.Now().Add(5 * time.Minute); ; {
			err := chromedp.QueryAfter(selector, clickFirst, append(options, chromedp.NodeVisible)...).Do(ctx)
			// The page was replaced between two steps, and the new one may have the element too.
			if gone := (*cdproto.Error)(nil); !errors.As(err, &gone) || time.Now().After(end) {
				return err
			}
		}
	})
}

func clickFirst(ctx context.Context, _ runtime.ExecutionContextID, found ...*cdp.Node) error {
	if len(found) == 0 {
		return errors.New("no element to click")
	}
	object, err := dom.ResolveNode().WithNodeID(found[0].NodeID).Do(ctx)
	if err != nil {
		return err
	}
	var at struct{ X, Y float64 }
	if err := chromedp.CallFunctionOn(still, &at, func(p *runtime.CallFunctionOnParams) *runtime.CallFunctionOnParams {
		return p.WithObjectID(object.ObjectID).WithAwaitPromise(true).WithReturnByValue(true)
	}).Do(ctx); err != nil {
		return fmt.Errorf("place to click: %w", err)
	}
	return chromedp.MouseClickXY(at.X, at.Y).Do(ctx)
}

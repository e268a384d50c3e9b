package ask

import (
	"context"
	"errors"

	"concordat"
	"concordat/store"
)

// lied raises an alarm because a partner's answer violates the protocol, through a program fault or on purpose.
func (a *Asker) lied(ctx context.Context, partner concordat.SiteID, answer error) {
	if !errors.Is(answer, errGarbage) {
		return
	}
	raised, err := a.o.Store.Partners.RaiseAlarm(context.WithoutCancel(ctx), store.PartnerAlarm{Partner: partner, Kind: store.AlarmFalse})
	if err != nil {
		a.o.Logger.Error("alarm", "site", partner, "error", err)
	} else if raised {
		a.o.Logger.Error("a partner's answer is impossible, or answers a different question", "site", partner, "error", answer)
	}
}

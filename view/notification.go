package view

import (
	"time"

	"concordat"
	"concordat/store"
)

// Notification is a message from another program in the site's inbox.
type Notification struct {
	ID       string                  `json:"id"`
	Account  string                  `json:"account" doc:"Account whose token was used to send the notification"`
	Activity string                  `json:"activity" doc:"Identifier assigned by the sender"`
	Type     string                  `json:"type" doc:"Types assigned by the sender"`
	Origin   string                  `json:"origin" doc:"Address of the sender"`
	Inbox    string                  `json:"inbox" doc:"Address for answers"`
	Object   string                  `json:"object" doc:"Address of the notification's subject"`
	State    store.NotificationState `json:"state" enum:"fetching,checking,done,failed,withdrawn,noted,refused"`
	Check    concordat.TaskID        `json:"check,omitempty"`
	Cause    string                  `json:"cause,omitempty" doc:"Cause of the latest failure or of the refusal, or the sender's words"`
	Attempts int                     `json:"attempts,omitempty" doc:"Failed attempts in this state"`
	Due      time.Time               `json:"due,omitzero" doc:"Time of the next attempt after a failure"`
	Made     time.Time               `json:"made"`
	Answers  []NotificationAnswer    `json:"answers" nullable:"false" doc:"Answers, oldest first"`
}

// NotificationAnswer is an answer to the sender of a notification.
type NotificationAnswer struct {
	ID       string              `json:"id"`
	Type     string              `json:"type" enum:"TentativeAccept,Accept,Reject,Announce,Flag"`
	State    store.DeliveryState `json:"state" enum:"pending,delivered,dead"`
	Attempts int                 `json:"attempts"`
	Due      time.Time           `json:"due,omitzero" doc:"Time of the next attempt, while it is pending"`
	Status   int                 `json:"status,omitempty" doc:"HTTP status of the latest attempt"`
	Cause    string              `json:"cause,omitempty" doc:"Cause of the latest failure, or the receiver's objection"`
	Made     time.Time           `json:"made"`
	Ended    time.Time           `json:"ended,omitzero"`
}

// OfNotification returns a notification with its answers.
func OfNotification(n store.Notification, answers []store.NotificationAnswer) Notification {
	out := Notification{ID: n.ID, Account: n.Account, Activity: n.Activity, Type: n.Kind, Origin: n.Origin, Inbox: n.Inbox, Object: n.Object,
		State: n.State, Check: n.Task, Cause: n.Cause, Attempts: n.Attempts, Made: n.Made, Answers: []NotificationAnswer{}}
	if n.Attempts > 0 && (n.State == store.NotificationFetching || n.State == store.NotificationChecking) {
		out.Due = n.Due
	}
	for _, a := range answers {
		one := NotificationAnswer{ID: a.ID, Type: a.Kind, State: a.State, Attempts: a.Attempts, Status: a.Status, Cause: a.Cause, Made: a.Made,
			Ended: a.Ended}
		if a.State == store.DeliveryPending {
			one.Due = a.Due
		}
		out.Answers = append(out.Answers, one)
	}
	return out
}

// Dead reports whether an answer was abandoned.
func (n Notification) Dead() bool {
	for _, a := range n.Answers {
		if a.State == store.DeliveryDead {
			return true
		}
	}
	return false
}

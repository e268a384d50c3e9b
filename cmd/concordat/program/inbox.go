package program

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"concordat"
	"concordat/cmd/cli"
	"concordat/instance"
	"concordat/report"
	"concordat/store"
	"concordat/view"
)

func inboxCommand(a *app) *cobra.Command {
	c := &cobra.Command{Use: "inbox", Short: "Show COAR Notify notifications from other programs, and the site's answers", Args: cobra.NoArgs,
		Long: `Repositories and journals send requests for checks to the inbox of the site, which concordat serve answers.
These commands show requests and answers, and resend answers that could not be delivered. doc/neighbours.md has the details.`,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
	c.AddCommand(inboxList(a), inboxShow(a), inboxReplay(a))
	return c
}

func inboxList(a *app) *cobra.Command {
	var state string
	var dead bool
	c := &cobra.Command{Use: "list", Short: "List notifications with their answers, newest first", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if state != "" && !slices.Contains(store.NotificationStates, store.NotificationState(state)) {
				return cli.Usagef("--state %s: must be one of %v", state, store.NotificationStates)
			}
			return a.With(cmd.Context(), instance.StoreOnly, func(o *instance.Instance) error {
				for before := int64(0); ; {
					all, err := o.Store.Notifications.ListNotifications(cmd.Context(), "", before, 0)
					if err != nil || len(all) == 0 {
						return err
					}
					for _, n := range all {
						before = n.Seq
						if state != "" && string(n.State) != state {
							continue
						}
						if err := printNotification(cmd.Context(), a, o, n, dead); err != nil {
							return err
						}
					}
				}
			})
		}}
	c.Flags().StringVar(&state, "state", "", "list only notifications in this state, such as failed or refused")
	var states []string
	for _, s := range store.NotificationStates {
		states = append(states, string(s))
	}
	c.RegisterFlagCompletionFunc("state", cobra.FixedCompletions(states, cobra.ShellCompDirectiveNoFileComp))
	c.Flags().BoolVar(&dead, "dead", false, "list only notifications with undelivered answers")
	return c
}

func inboxShow(a *app) *cobra.Command {
	var received bool
	c := &cobra.Command{Use: "show ID", Short: "Show a notification with its answers", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.With(cmd.Context(), instance.StoreOnly, func(o *instance.Instance) error {
				n, err := notificationOf(cmd.Context(), o.Store, args[0])
				switch {
				case err != nil:
					return err
				case received:
					var b bytes.Buffer
					if err := json.Indent(&b, n.Body, "", "  "); err != nil {
						return err
					}
					_, err = fmt.Fprintln(a.Stdout, controls.ReplaceAllStringFunc(b.String(), func(c string) string {
						return fmt.Sprintf(`\u%04x`, []rune(c)[0])
					}))
					return err
				}
				return printNotification(cmd.Context(), a, o, n, false)
			})
		}}
	c.ValidArgsFunction = completeNotifications(a)
	c.Flags().BoolVar(&received, "received", false, "print the notification as received, in JSON-LD")
	return c
}

func inboxReplay(a *app) *cobra.Command {
	return &cobra.Command{Use: "replay ID", Short: "Resend undelivered answers to a notification", Args: cobra.ExactArgs(1),
		ValidArgsFunction: completeNotifications(a),
		Long: `Replay resends, in order, the answers to a notification that could not be delivered, and retries them for three days.
The server sends them; if it is not running, it does so once it starts.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.With(cmd.Context(), instance.StoreOnly, func(o *instance.Instance) error {
				var sent int64
				err := o.Store.Atomic(cmd.Context(), func(tx *store.DB) error {
					n, err := notificationOf(cmd.Context(), tx, args[0])
					if err != nil {
						return err
					}
					if sent, err = tx.Notifications.ReplayReplies(cmd.Context(), n.ID, time.Now().Add(store.AnswersKept)); err != nil || sent == 0 {
						return err
					}
					return tx.Audit.Note(cmd.Context(), cli.Operator(), "notification_replayed", map[string]any{"id": n.ID})
				})
				if err == nil && sent == 0 {
					err = fmt.Errorf("notification %s has no undelivered answers", args[0])
				}
				if err != nil {
					return err
				}
				n, err := notificationOf(cmd.Context(), o.Store, args[0])
				if err != nil {
					return err
				}
				if a.JSON {
					return printNotification(cmd.Context(), a, o, n, false)
				}
				a.Say("%s to %s", report.Plural(int(sent), "answer will be resent", "answers will be resent"), n.Inbox)
				return nil
			})
		}}
}

// completeNotifications completes the IDs of the newest notifications.
func completeNotifications(a *app) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		var out []string
		if len(args) == 0 {
			_ = a.With(cmd.Context(), instance.StoreOnly, func(o *instance.Instance) error { // after an error, there is nothing to complete
				all, err := o.Store.Notifications.ListNotifications(cmd.Context(), "", 0, 100)
				for _, n := range all {
					out = append(out, n.ID)
				}
				return err
			})
		}
		return out, cobra.ShellCompDirectiveNoFileComp
	}
}

// controls matches characters that could control a terminal.
var controls = regexp.MustCompile(`[\x00-\x08\x0b-\x1f\x7f-\x{9f}]`)

// notificationOf returns a notification, or a usage error if it does not exist.
func notificationOf(ctx context.Context, db *store.DB, id string) (store.Notification, error) {
	n, err := db.Notifications.Notification(ctx, id)
	if errors.Is(err, concordat.ErrNotFound) {
		err = cli.Usagef("notification %s not found; see concordat inbox list", id)
	}
	return n, err
}

// printNotification prints a notification with its responses. If dead is set, it prints only abandoned ones.
func printNotification(ctx context.Context, a *app, o *instance.Instance, n store.Notification, dead bool) error {
	answers, err := o.Store.Notifications.NotificationAnswers(ctx, n.ID)
	if err != nil {
		return err
	}
	v := view.OfNotification(n, answers)
	if dead && !v.Dead() {
		return nil
	}
	if a.JSON {
		return a.Line(v)
	}
	say := func(format string, args ...any) { // text from other programs must not begin a new line
		a.Say("%s", strings.ReplaceAll(fmt.Sprintf(format, args...), "\n", " "))
	}
	say("%s  %s  %s  %s", v.ID, v.Made.Local().Format(time.DateTime), v.State, v.Object)
	say("  %s from %s, account %s", v.Type, v.Origin, v.Account)
	if v.Check != "" {
		say("  check %s", v.Check)
	}
	if v.Cause != "" {
		say("  %s", v.Cause)
	}
	if !v.Due.IsZero() {
		say("  next attempt %s", v.Due.Local().Format(time.DateTime))
	}
	for _, r := range v.Answers {
		line := fmt.Sprintf("  %s %s", r.Type, r.State)
		switch {
		case r.State == store.DeliveryPending && r.Attempts > 0:
			line += ", next attempt " + r.Due.Local().Format(time.DateTime)
		case !r.Ended.IsZero():
			line += " " + r.Ended.Local().Format(time.DateTime)
		}
		if r.Cause != "" {
			line += ": " + r.Cause
		}
		say("%s", line)
	}
	return nil
}

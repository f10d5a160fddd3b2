package webauthn_test

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"github.com/gatehouse-go/gatehouse/auth"
)

// TestCodeInChromium: a person types the code of a mail on the page that follows
// the sign-in, wrong at first, then with a space; with scripts and without.
func TestCodeInChromium(t *testing.T) {
	for name, scripts := range map[string]bool{"with scripts": true, "without scripts": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var code atomic.Pointer[string]
			s := serve(t, true, nil, func(c *auth.Config) {
				c.Providers = append(c.Providers, &auth.Email{Code: true, SendVerificationRequest: func(_ context.Context, v auth.VerificationRequest) error {
					code.Store(&v.Code)
					return nil
				}})
			})
			c := newChromium(t)
			if !scripts {
				call(c, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true})
			}
			const address, field = `form[action$="/signin/email"] input[name="email"]`, `input[autocomplete="one-time-code"]`
			c.goTo(s.url + "/auth/signin")
			c.do(chromedp.SendKeys(chromedp.CSS(address), "ada@example.com\r"))
			c.do(chromedp.SendKeys(chromedp.CSS(field), "12345\r"))
			c.do(chromedp.WaitVisible(chromedp.CSS(`[role="alert"]`)))
			c.do(chromedp.SendKeys(chromedp.CSS(field), (*code.Load())[:3]+" "+(*code.Load())[3:]+"\r"))
			c.do(chromedp.WaitVisible(chromedp.CSS("#who")))
			if !scripts {
				call(c, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{})
			}
			c.wantUser(s, "ada@example.com")
		})
	}
}

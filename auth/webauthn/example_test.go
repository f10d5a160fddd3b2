package webauthn_test

import (
	"fmt"
	"log"

	"github.com/gatehouse-go/gatehouse/adapters/memory"
	"github.com/gatehouse-go/gatehouse/auth"
	"github.com/gatehouse-go/gatehouse/auth/webauthn"
)

// A site with passkeys that never leave the device of their user.
func ExamplePasskey() {
	passkey := webauthn.Passkey(webauthn.With(func(p *auth.WebAuthn) { p.DeviceBound = true }))
	handler, err := auth.New(auth.Config{
		Secret:       []string{"a random text of 32 characters .."}, // or AUTH_SECRET
		URL:          "https://app.example.com",
		Adapter:      memory.New(),
		Providers:    []auth.Provider{passkey},
		Experimental: auth.Experimental{EnableWebAuthn: true},
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(passkey.ID, handler != nil) // a handler for the routes below /auth
	// Output: passkey true
}

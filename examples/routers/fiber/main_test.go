package main

import (
	"log/slog"
	"net"
	"strings"
	"testing"

	"github.com/gofiber/fiber/v3"

	"github.com/gatehouse-go/gatehouse/auth"
	"github.com/gatehouse-go/gatehouse/examples/internal/visitor"
)

func visit(t *testing.T) *visitor.Visitor {
	t.Helper()
	site, err := newSite(auth.Config{Secret: []string{strings.Repeat("router-secret", 3)}, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- site.Listener(listener, fiber.ListenConfig{DisableStartupMessage: true}) }()
	t.Cleanup(func() {
		if err := site.Shutdown(); err != nil {
			t.Error(err)
		}
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return visitor.New(t, "http://"+listener.Addr().String())
}

func TestSite(t *testing.T) { visit(t).SignInAndOut("For Ada only.") }

package main

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/gatehouse-go/gatehouse/adapters/memory"
	"github.com/gatehouse-go/gatehouse/auth"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
	"github.com/gatehouse-go/gatehouse/auth/jwt"
)

var secret = strings.Repeat("grpc-secret", 3)

// dial serves a handler and connects to it.
func dial(t *testing.T, config auth.Config) grpc_health_v1.HealthClient {
	t.Helper()
	config.Secret, config.URL, config.Logger = []string{secret}, "https://site.example", slog.New(slog.DiscardHandler)
	h, err := auth.New(config)
	require.NoError(t, err)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	server := newServer(h)
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(server.Stop)
	conn, err := grpc.NewClient(listener.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	return grpc_health_v1.NewHealthClient(conn)
}

func call(t *testing.T, c grpc_health_v1.HealthClient, authorization ...string) codes.Code {
	t.Helper()
	ctx := t.Context()
	for _, a := range authorization {
		ctx = metadata.AppendToOutgoingContext(ctx, "authorization", a)
	}
	_, err := c.Check(ctx, &grpc_health_v1.HealthCheckRequest{Service: "ada@example.com"})
	return status.Code(err)
}

func TestTokenSession(t *testing.T) {
	c := dial(t, auth.Config{})
	token := func(email string) string {
		s, err := jwt.Encode(jwt.EncodeParams{Token: auth.Claims{"sub": "1", "email": email}, Secrets: []string{secret}, Salt: jwt.SecureCookieName})
		require.NoError(t, err)
		return s
	}
	ada := token("ada@example.com")
	for name, x := range map[string]struct {
		authorization []string
		want          codes.Code
	}{
		"signed in":       {[]string{"Bearer " + ada}, codes.OK},
		"somebody else":   {[]string{"Bearer " + token("eve@example.com")}, codes.PermissionDenied},
		"nobody":          {nil, codes.Unauthenticated},
		"no scheme":       {[]string{ada}, codes.Unauthenticated},
		"twice":           {[]string{"Bearer " + ada, "Bearer " + ada}, codes.Unauthenticated},
		"altered":         {[]string{"Bearer " + ada[:len(ada)-8] + "AAAAAAAA"}, codes.Unauthenticated},
		"another's token": {[]string{"Bearer eyJhbGciOiJub25lIn0.e30."}, codes.Unauthenticated},
	} {
		assert.Equal(t, x.want, call(t, c, x.authorization...), name)
	}
}

// broken is a store that fails when down is set.
type broken struct {
	adapter.Adapter
	down bool
}

func (b *broken) GetSessionAndUser(ctx context.Context, token string) (*adapter.SessionAndUser, error) {
	if b.down {
		return nil, errors.New("down")
	}
	return b.Adapter.GetSessionAndUser(ctx, token)
}

func TestStoredSession(t *testing.T) {
	store := &broken{Adapter: memory.New()}
	user, err := store.CreateUser(t.Context(), adapter.User{Email: "ada@example.com"})
	require.NoError(t, err)
	_, err = store.CreateSession(t.Context(), adapter.Session{SessionToken: "token", UserID: user.ID, Expires: time.Now().Add(time.Hour)})
	require.NoError(t, err)
	c := dial(t, auth.Config{Adapter: store})
	assert.Equal(t, codes.OK, call(t, c, "Bearer token"), "signed in")
	_, err = store.DeleteSession(t.Context(), "token")
	require.NoError(t, err)
	assert.Equal(t, codes.Unauthenticated, call(t, c, "Bearer token"), "signed out")
	store.down = true
	assert.Equal(t, codes.Unavailable, call(t, c, "Bearer token"), "without the store")
}

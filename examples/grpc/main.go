// Grpc is a gRPC service whose callers have signed in to a site. They send the
// token of their session in the metadata of each call. The service is the
// standard health check, which needs no generated code.
package main

import (
	"context"
	"log"
	"net"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"

	"github.com/gatehouse-go/gatehouse/auth"
)

func main() {
	h, err := auth.New(auth.Config{}) // AUTH_SECRET and AUTH_URL of the site
	if err != nil {
		log.Fatal(err)
	}
	listener, err := net.Listen("tcp", "localhost:4000")
	if err != nil {
		log.Fatal(err)
	}
	log.Print("listening on localhost:4000")
	log.Fatal(newServer(h).Serve(listener))
}

func newServer(h *auth.Handler) *grpc.Server {
	server := grpc.NewServer(grpc.UnaryInterceptor(signedIn(h)))
	grpc_health_v1.RegisterHealthServer(server, health{})
	return server
}

// health reports that it is healthy only for the service name of its caller,
// the caller's e-mail address.
type health struct {
	grpc_health_v1.UnimplementedHealthServer
}

func (health) Check(ctx context.Context, r *grpc_health_v1.HealthCheckRequest) (*grpc_health_v1.HealthCheckResponse, error) {
	if r.GetService() != caller(ctx).Email {
		return nil, status.Error(codes.PermissionDenied, "not yours")
	}
	return &grpc_health_v1.HealthCheckResponse{Status: grpc_health_v1.HealthCheckResponse_SERVING}, nil
}

module github.com/gatehouse-go/gatehouse/examples/grpc

go 1.26.0

replace (
	github.com/gatehouse-go/gatehouse/adapters/memory => ../../adapters/memory
	github.com/gatehouse-go/gatehouse/adaptertest => ../../adaptertest
	github.com/gatehouse-go/gatehouse/auth => ../../auth
)

require (
	github.com/gatehouse-go/gatehouse/adapters/memory v0.0.0
	github.com/gatehouse-go/gatehouse/auth v0.0.0
	google.golang.org/grpc v1.85.0
)

require (
	github.com/coreos/go-oidc/v3 v3.21.0 // indirect
	github.com/go-jose/go-jose/v4 v4.1.8 // indirect
	github.com/wneessen/go-mail v0.8.1 // indirect
	golang.org/x/crypto v0.57.0 // indirect
	golang.org/x/net v0.60.0 // indirect
	golang.org/x/oauth2 v0.37.0 // indirect
	golang.org/x/sync v0.23.0 // indirect
	golang.org/x/sys v0.48.0 // indirect
	golang.org/x/text v0.42.0 // indirect
	google.golang.org/genproto/googleapis/rpc v0.0.0-20260817212433-ac3dfec99bb1 // indirect
	google.golang.org/protobuf v1.36.12 // indirect
)

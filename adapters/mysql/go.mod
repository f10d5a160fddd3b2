module github.com/gatehouse-go/gatehouse/adapters/mysql

go 1.26.0

require (
	github.com/gatehouse-go/gatehouse/adaptertest v0.0.0
	github.com/gatehouse-go/gatehouse/auth v0.0.0
	github.com/gatehouse-go/gatehouse/internal/authjs v0.0.0
	github.com/go-sql-driver/mysql v1.10.0
	github.com/stretchr/testify v1.12.1
)

require (
	filippo.io/edwards25519 v1.2.0 // indirect
	github.com/anishathalye/porcupine v1.3.1 // indirect
	github.com/coreos/go-oidc/v3 v3.21.0 // indirect
	github.com/go-jose/go-jose/v4 v4.1.8 // indirect
	github.com/wneessen/go-mail v0.8.1 // indirect
	go.yaml.in/yaml/v3 v3.0.5 // indirect
	golang.org/x/crypto v0.58.0 // indirect
	golang.org/x/net v0.61.0 // indirect
	golang.org/x/oauth2 v0.37.0 // indirect
	golang.org/x/sync v0.24.0 // indirect
	golang.org/x/text v0.43.0 // indirect
	pgregory.net/rapid v1.3.0 // indirect
)

replace (
	github.com/gatehouse-go/gatehouse/adaptertest => ../../adaptertest
	github.com/gatehouse-go/gatehouse/auth => ../../auth
	github.com/gatehouse-go/gatehouse/internal/authjs => ../../internal/authjs
)

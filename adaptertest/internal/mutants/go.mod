module github.com/gatehouse-go/gatehouse/adaptertest/internal/mutants

go 1.26.0

require (
	github.com/gatehouse-go/gatehouse/adapters/memory v0.0.0
	github.com/gatehouse-go/gatehouse/adapters/sqlite v0.0.0
	github.com/gatehouse-go/gatehouse/adaptertest v0.0.0
	github.com/gatehouse-go/gatehouse/auth v0.0.0
	github.com/stretchr/testify v1.12.1
	modernc.org/sqlite v1.62.0
)

require (
	github.com/anishathalye/porcupine v1.3.1 // indirect
	github.com/coreos/go-oidc/v3 v3.21.0 // indirect
	github.com/dustin/go-humanize v1.1.0 // indirect
	github.com/go-jose/go-jose/v4 v4.1.8 // indirect
	github.com/google/uuid v1.6.0 // indirect
	github.com/mattn/go-isatty v0.0.24 // indirect
	github.com/ncruces/go-strftime v1.1.0 // indirect
	github.com/remyoudompheng/bigfft v0.0.0-20230129092748-24d4a6f8daec // indirect
	github.com/wneessen/go-mail v0.8.1 // indirect
	go.yaml.in/yaml/v3 v3.0.5 // indirect
	golang.org/x/crypto v0.58.0 // indirect
	golang.org/x/net v0.61.0 // indirect
	golang.org/x/oauth2 v0.37.0 // indirect
	golang.org/x/sync v0.24.0 // indirect
	golang.org/x/sys v0.49.0 // indirect
	golang.org/x/text v0.43.0 // indirect
	modernc.org/libc v1.80.1 // indirect
	modernc.org/mathutil v1.7.1 // indirect
	modernc.org/memory v1.12.1 // indirect
	pgregory.net/rapid v1.3.0 // indirect
)

replace (
	github.com/gatehouse-go/gatehouse/adapters/memory => ../../../adapters/memory
	github.com/gatehouse-go/gatehouse/adapters/sqlite => ../../../adapters/sqlite
	github.com/gatehouse-go/gatehouse/adaptertest => ../../
	github.com/gatehouse-go/gatehouse/auth => ../../../auth
	github.com/gatehouse-go/gatehouse/internal/authjs => ../../../internal/authjs
)

replace github.com/google/pprof => github.com/google/pprof v0.0.0-20260802141513-ef3492d7dac3

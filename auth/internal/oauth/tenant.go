package oauth

import (
	"regexp"
	"slices"
	"strings"
)

// placeholder is the text in the metadata of Microsoft Entra ID for the tenants
// common and organizations. The issuer of a token has the tenant's GUID in its
// place.
const placeholder = "{tenantid}"

// personalTenant is the tenant of all personal Microsoft accounts.
// https://learn.microsoft.com/entra/identity-platform/id-token-claims-reference
const personalTenant = "9188040d-6c67-4c5b-b112-36a304b66dad"

var (
	tenantWord = regexp.MustCompile(`^[A-Za-z0-9.-]+$`)
	guid       = regexp.MustCompile(`^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$`)
)

// entraHosts are the clouds of Microsoft Entra ID, in which a tenant has several
// names: common, organizations, consumers, its domains and its GUID.
// https://learn.microsoft.com/entra/identity-platform/authentication-national-cloud
var entraHosts = []string{"login.microsoftonline.com", "login.microsoftonline.us", "login.partner.microsoftonline.cn"}

// word returns the part of an issuer at the place of the tenant in the
// template, if the other parts are equal.
func word(template, issuer string) (string, bool) {
	before, after, _ := strings.Cut(template, placeholder)
	rest, ok := strings.CutPrefix(issuer, before)
	if !ok {
		return "", false
	}
	rest, ok = strings.CutSuffix(rest, after)
	return rest, ok && tenantWord.MatchString(rest)
}

// admits reports whether a configuration with the tenant configured accepts
// accounts of the tenant. A domain does not determine the GUID, so with the
// metadata of all tenants a domain accepts no account.
func admits(configured, tenant string) bool {
	if !tenantWord.MatchString(tenant) {
		return false
	}
	switch configured {
	case "common":
		return true
	case "organizations":
		return !strings.EqualFold(tenant, personalTenant)
	case "consumers":
		return strings.EqualFold(tenant, personalTenant)
	}
	return strings.EqualFold(configured, tenant)
}

// named reports whether the metadata of an issuer with a GUID belongs to the
// configured issuer, which names the tenant differently: consumers, or a
// domain.
func named(configured, issuer string) bool {
	for _, host := range entraHosts {
		template := "https://" + host + "/" + placeholder + "/v2.0"
		name, ok := word(template, configured)
		tenant, same := word(template, issuer)
		if !ok || !same || !guid.MatchString(tenant) {
			continue
		}
		if strings.Contains(name, ".") { // a domain of an organisation
			return !strings.EqualFold(tenant, personalTenant)
		}
		return name == "consumers" && admits(name, tenant)
	}
	return false
}

// Accepts reports whether the issuer of a token or a response is this one.
// stated is the issuer in the metadata, or the result of Stated without
// metadata.
func (i *Issuer) Accepts(stated, issuer string) bool {
	if !strings.Contains(stated, placeholder) {
		return issuer == stated
	}
	configured, ok := word(stated, i.expected())
	tenant, same := word(stated, issuer)
	return ok && same && admits(configured, tenant)
}

// Stated returns the configured issuer, or "" if only the metadata names it. It
// contains the placeholder if the configuration names a group of tenants.
func (i *Issuer) Stated() string {
	for _, host := range entraHosts {
		template := "https://" + host + "/" + placeholder + "/v2.0"
		if name, ok := word(template, i.URL); ok && slices.Contains([]string{"common", "organizations", "consumers"}, name) {
			return template
		}
	}
	return i.URL
}

/** Settings that say who may call the server. */
import { option } from './option.ts'
import { addressList, secret } from './value-kind.ts'
import { secretLengthMin } from './option.ts'

export const accessOptions = {
  adminToken: option({
    env: 'HOLDFAST_ADMIN_TOKEN',
    kind: secret(`for a server with at least ${secretLengthMin} characters`),
    unit: null,
    default: null,
    defaultText:
      'with SQLite made at the first start, saved as `admin-token` in the data folder with mode ' +
      '0600 and shown once; with PostgreSQL required',
    summary: 'Bearer token that is allowed to do everything',
    advice: 'Make a long, random one: `openssl rand -base64 32`.',
    secret: 'whole',
  }),
  trustedProxies: option({
    env: 'HOLDFAST_TRUSTED_PROXIES',
    kind: addressList(),
    unit: null,
    default: null,
    defaultText: 'none: the address of the connection is used',
    summary: 'Proxies whose X-Forwarded-For header is trusted',
    advice:
      'The audit of rejected tokens shows the address from that header. List only your own ' +
      'proxies: a listed one can claim any address.',
    secret: 'no',
  }),
} as const

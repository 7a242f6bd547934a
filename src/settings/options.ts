/**
 * Every setting there is, in the order the reference page shows them. The key is the name in code
 * and in the config file, and gives the flag; a whole secret has neither flag nor config key.
 * Units come last in names.
 */
import { option, type Option } from './option.ts'
import {
  addressList,
  choice,
  databaseAddress,
  hostList,
  line,
  privateKey,
  secret,
  secretList,
  webAddress,
  wholeNumber,
  type Database,
  type ValueOf,
} from './value-kind.ts'

/** The longest a timer can wait. */
export const timerMsMax = 2_147_483_647
const dayMs = 86_400_000
/** A server does not start with a shorter admin token or webhook secret. */
export const secretLengthMin = 16

const server = {
  host: option({
    group: 'Server',
    env: 'HOLDFAST_HOST',
    kind: line('a host name or an IP address', /^[A-Za-z0-9._:%-]+$/),
    unit: null,
    default: '127.0.0.1',
    summary: 'Address to listen on',
    trade:
      '`0.0.0.0` or `::` lets other machines in; put TLS in front of it then, because tokens ' +
      'travel in the clear.',
    secret: 'no',
  }),
  port: option({
    group: 'Server',
    env: 'HOLDFAST_PORT',
    kind: wholeNumber(0, 65_535),
    unit: null,
    default: 8787,
    summary: 'Port to listen on',
    trade: '0 picks a free one, different at every start; the listening line says which.',
    secret: 'no',
  }),
  publicUrl: option({
    group: 'Server',
    env: 'HOLDFAST_PUBLIC_URL',
    kind: webAddress('https://holdfast.example.com'),
    unit: null,
    default: null,
    defaultText: 'none: no links are published',
    summary: 'Address under which GitHub and people reach this server',
    trade:
      'The start shows the address for webhooks from it, doctor compares that with GitHub, and ' +
      'requests for its host are answered. Nothing that is published links to it in this version.',
    secret: 'no',
  }),
  logLevel: option({
    group: 'Server',
    env: 'HOLDFAST_LOG_LEVEL',
    kind: choice(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent']),
    unit: null,
    default: 'info',
    summary: 'Least important log line to write',
    trade: '`debug` and `trace` tell more and cost disk; `warn` and above hide the normal course.',
    secret: 'no',
  }),
  shutdownMs: option({
    group: 'Server',
    env: 'HOLDFAST_SHUTDOWN_MS',
    kind: wholeNumber(0, dayMs),
    unit: 'milliseconds',
    default: 20_000,
    summary: 'Time for work in hand to finish at SIGTERM or SIGINT',
    trade:
      'When it is over, the server exits with code 1, and leases and the next start take care of ' +
      'the rest. Keep it below what your service manager waits before it kills.',
    secret: 'no',
  }),
} as const

const storage = {
  dataDir: option({
    group: 'Storage',
    env: 'HOLDFAST_DATA_DIR',
    kind: line('a path'),
    unit: null,
    default: './data',
    summary: 'Folder for the database file and the secrets made at first start',
    trade:
      'Made with mode 0700, relative to the working directory. Keep it on a local disk: ' +
      'SQLite does not lock safely over a network file system.',
    secret: 'no',
  }),
  databaseUrl: option({
    group: 'Storage',
    env: 'HOLDFAST_DATABASE_URL',
    kind: databaseAddress(),
    unit: null,
    default: null,
    defaultText: '`sqlite:` with `holdfast.db` in the data folder',
    summary: 'The store: sqlite:PATH or postgres://USER@HOST/NAME',
    trade:
      'SQLite needs nothing else and serves one process; PostgreSQL lets any number of ' +
      'machines share the work. `sqlite::memory:` forgets everything at exit. A file outside the ' +
      'data folder must be closed to other users (mode 0600), and its folder to their writing.',
    secret: 'password',
  }),
} as const

const access = {
  adminToken: option({
    group: 'Access',
    env: 'HOLDFAST_ADMIN_TOKEN',
    kind: secret(`of ${secretLengthMin} characters or more for a server`),
    unit: null,
    default: null,
    defaultText:
      'on SQLite made at first start, kept as `admin-token` in the data folder with mode ' +
      '0600 and shown once; on PostgreSQL required',
    summary: 'Bearer token that may do everything',
    trade: 'Long and random is the only protection it has: `openssl rand -base64 32` makes one.',
    secret: 'whole',
  }),
} as const

const proxies = {
  trustedProxies: option({
    group: 'Access',
    env: 'HOLDFAST_TRUSTED_PROXIES',
    kind: addressList(),
    unit: null,
    default: null,
    defaultText: 'none: the address of the connection counts',
    summary: 'Proxies whose X-Forwarded-For is believed',
    trade:
      'The audit of failed sign-ins names the address it gives. Name only proxies of yours: ' +
      'whoever is listed can claim any address.',
    secret: 'no',
  }),
} as const

const runs = {
  leaseMs: option({
    group: 'Runs',
    env: 'HOLDFAST_LEASE_MS',
    kind: wholeNumber(1000, dayMs),
    unit: 'milliseconds',
    default: 60_000,
    summary: 'How long a worker holds a run without a heartbeat',
    trade:
      'Shorter notices a dead worker sooner; longer forgives a slow network and costs fewer ' +
      'writes. Heartbeats come at a third of it.',
    secret: 'no',
  }),
} as const

const publishing = {
  coalesceMs: option({
    group: 'Publishing',
    env: 'HOLDFAST_COALESCE_MS',
    kind: wholeNumber(0, dayMs),
    unit: 'milliseconds',
    default: 2000,
    summary: 'Smallest gap between two edits of one comment or status',
    trade: 'Longer saves writes and shows progress later. 0 switches it off.',
    secret: 'no',
  }),
  writeSpacingMs: option({
    group: 'Publishing',
    env: 'HOLDFAST_WRITE_SPACING_MS',
    kind: wholeNumber(0, dayMs),
    unit: 'milliseconds',
    default: 1000,
    summary: 'Smallest gap between two GitHub writes of one identity',
    trade: 'GitHub asks for a second; shorter publishes faster and risks its limits. 0 is off.',
    secret: 'no',
  }),
  writesPerMinute: option({
    group: 'Publishing',
    env: 'HOLDFAST_WRITES_PER_MINUTE',
    kind: wholeNumber(0, 1_000_000),
    unit: 'writes',
    default: 80,
    summary: 'Content written to GitHub per identity and minute',
    trade: 'More than GitHub allows gets the identity blocked for longer. 0 switches it off.',
    secret: 'no',
  }),
  writesPerHour: option({
    group: 'Publishing',
    env: 'HOLDFAST_WRITES_PER_HOUR',
    kind: wholeNumber(0, 1_000_000),
    unit: 'writes',
    default: 500,
    summary: 'Content written to GitHub per identity and hour',
    trade: 'More than GitHub allows gets the identity blocked for longer. 0 switches it off.',
    secret: 'no',
  }),
  confirmDelayMs: option({
    group: 'Publishing',
    env: 'HOLDFAST_CONFIRM_DELAY_MS',
    kind: wholeNumber(0, dayMs),
    unit: 'milliseconds',
    default: 5000,
    summary: 'Wait between two looks for something that may have been published',
    trade: 'Shorter settles doubt sooner and risks looking before GitHub shows what it has.',
    secret: 'no',
  }),
  locale: option({
    group: 'Publishing',
    env: 'HOLDFAST_LOCALE',
    kind: line('a language tag', /^[A-Za-z]{2,3}([-_][A-Za-z0-9]{1,8})*$/),
    unit: null,
    default: 'en',
    summary: 'Language of what is published',
    trade: 'English and Russian are spoken; any other tag is answered in English.',
    secret: 'no',
  }),
  imageHosts: option({
    group: 'Publishing',
    env: 'HOLDFAST_IMAGE_HOSTS',
    kind: hostList(),
    unit: null,
    default: null,
    defaultText: 'none: every image in a text from outside becomes a link',
    summary: 'Hosts whose images may be shown in what is published',
    trade:
      'Showing an image asks its host for it, so a text that was made to leak something can do ' +
      'so through the address. Name only hosts that you trust.',
    secret: 'no',
  }),
} as const

const github = {
  githubApiUrl: option({
    group: 'GitHub',
    env: 'GITHUB_API_URL',
    kind: webAddress('https://api.github.com'),
    unit: null,
    default: 'https://api.github.com',
    summary: "GitHub's API: another one for GitHub Enterprise or a simulator",
    trade:
      'Whoever answers there receives the credentials below, so plain http is accepted for this ' +
      'machine only.',
    secret: 'no',
  }),
  githubToken: option({
    group: 'GitHub',
    env: 'GITHUB_TOKEN',
    kind: secret(),
    unit: null,
    default: null,
    defaultText: 'none: sandbox mode',
    summary: 'Token to act on GitHub with',
    trade:
      "Simpler than an App, with one account's rights and limits. An App wins over it. Needs the " +
      'scope `repo`, or `public_repo` where all repositories are public.',
    secret: 'whole',
  }),
  githubAppId: option({
    group: 'GitHub',
    env: 'GITHUB_APP_ID',
    kind: line('an App id or client id', /^([0-9]{1,20}|Iv[A-Za-z0-9.]{1,60})$/),
    unit: null,
    default: null,
    defaultText: 'none: sandbox mode',
    summary: 'GitHub App to act as',
    trade:
      'Needs the private key as well; gives each installation its own limits. `holdfast doctor` ' +
      'says which permissions and events it lacks.',
    secret: 'no',
  }),
  githubPrivateKey: option({
    group: 'GitHub',
    env: 'GITHUB_PRIVATE_KEY',
    kind: privateKey(),
    unit: null,
    default: null,
    summary: "The App's private key",
    trade: "Best given as a file. On one line, `\\n` stands for a line's end.",
    secret: 'whole',
  }),
  githubWebhookSecrets: option({
    group: 'GitHub',
    env: 'GITHUB_WEBHOOK_SECRET',
    kind: secretList(),
    unit: null,
    default: null,
    defaultText:
      'none: sandbox mode, where one is made at first start, kept as `webhook-secret` in the ' +
      'data folder and shown once',
    summary: 'Secret that webhooks are signed with',
    trade:
      'Several, separated by commas, are accepted while rotating; remove the old one after. ' +
      `Each has ${secretLengthMin} characters or more.`,
    secret: 'whole',
  }),
} as const

export const options = {
  ...server,
  ...storage,
  ...access,
  ...proxies,
  ...runs,
  ...publishing,
  ...github,
} as const

export type OptionKey = keyof typeof options

type ValueAt<K extends OptionKey> =
  ValueOf<(typeof options)[K]['kind']> | (typeof options)[K]['default']

export type OptionValues = { readonly [K in OptionKey]: ValueAt<K> }

export type PlainKey = {
  [K in OptionKey]: (typeof options)[K]['secret'] extends 'whole' ? never : K
}[OptionKey]

type ConfigValue<T> = T extends Database ? string : T

/** What the config file may set beside runs, tasks and the like: everything but secrets. */
export type PlainSettings = {
  readonly [K in PlainKey]?: ConfigValue<ValueOf<(typeof options)[K]['kind']>>
}

export const optionEntries = Object.entries(options) as readonly (readonly [OptionKey, Option])[]

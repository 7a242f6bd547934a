/** Settings of the connection to GitHub, both ways. */
import { option } from './option.ts'
import { line, privateKey, secret, secretList, webAddress } from './value-kind.ts'
import { secretLengthMin } from './option.ts'

export const githubOptions = {
  githubApiUrl: option({
    env: 'GITHUB_API_URL',
    kind: webAddress('https://api.github.com'),
    unit: null,
    default: 'https://api.github.com',
    summary: "Address of GitHub's API; another one for GitHub Enterprise or a simulator",
    advice:
      'The credentials below are sent there, so plain http is accepted only for this machine.',
    secret: 'no',
  }),
  githubToken: option({
    env: 'GITHUB_TOKEN',
    kind: secret(),
    unit: null,
    default: null,
    defaultText: 'none: sandbox mode',
    summary: 'Token of the GitHub account that publishes',
    advice:
      'Simpler than an App, with the rights and limits of one account. If an App is set too, the ' +
      'App is used. The token needs the scope `repo`, or `public_repo` if all repositories are ' +
      'public.',
    secret: 'whole',
  }),
  githubAppId: option({
    env: 'GITHUB_APP_ID',
    kind: line('an App id or client id', /^([0-9]{1,20}|Iv[A-Za-z0-9.]{1,60})$/),
    unit: null,
    default: null,
    defaultText: 'none: sandbox mode',
    summary: 'GitHub App that publishes',
    advice:
      'Needs the private key too. Each installation has its own limits. `holdfast doctor` shows ' +
      'which permissions and events are missing.',
    secret: 'no',
  }),
  githubPrivateKey: option({
    env: 'GITHUB_PRIVATE_KEY',
    kind: privateKey(),
    unit: null,
    default: null,
    summary: "The App's private key",
    advice: 'Best given as a file. If it is on one line, write `\\n` for a line break.',
    secret: 'whole',
  }),
  githubWebhookSecrets: option({
    env: 'GITHUB_WEBHOOK_SECRET',
    kind: secretList(),
    unit: null,
    default: null,
    defaultText:
      'none: sandbox mode, where one is made at the first start, saved as `webhook-secret` in ' +
      'the data folder and shown once',
    summary: 'Secret that GitHub signs webhooks with',
    advice:
      'To replace it without an interruption, give the new and the old one, separated by a ' +
      `comma, then remove the old one. Each needs at least ${secretLengthMin} characters.`,
    secret: 'whole',
  }),
} as const

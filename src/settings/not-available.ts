/**
 * Configuration that this version has no part for. It is refused when it is loaded: accepted in
 * silence, it would leave runs waiting for something that never comes.
 */
const remedies: Readonly<Record<string, string>> = {
  concurrency: 'workers decide how many runs they lease',
  tasks: 'only runs are configured so far',
  notify: 'only GitHub is published to',
  inDoubt: 'on GitHub Holdfast looks before it sends again',
  queueUrl: 'jobs are handed out from the database itself, and no Redis is needed',
  telegramApiUrl: 'only GitHub is published to',
  slackApiUrl: 'only GitHub is published to',
  mailFrom: 'only GitHub is published to',
}

/** By key, the message that is read after the place where the key was found. */
export const notAvailable: ReadonlyMap<string, string> = new Map(
  Object.entries(remedies).map(([key, instead]) => [
    key,
    `has the key ${JSON.stringify(key)}, which this version does not support: ${instead}. ` +
      'Remove it',
  ]),
)

/** Channels that this version does not have. */
export const channelsToCome: ReadonlyMap<string, string> = new Map(
  ['telegram', 'slack', 'email', 'webhook'].map((name) => [
    name,
    `has the channel ${JSON.stringify(name)}, which this version does not support: only GitHub ` +
      'is published to. Remove it',
  ]),
)

const noEndpoints = 'it has no webhook endpoints'

/** Variables of ours that belong to such configuration. */
export const unavailableVariables: ReadonlyMap<string, string> = new Map([
  ['HOLDFAST_QUEUE_URL', String(remedies['queueUrl'])],
  ['HOLDFAST_QUEUE_URL_FILE', String(remedies['queueUrl'])],
  ['HOLDFAST_SECRETS_KEY', noEndpoints],
  ['HOLDFAST_SECRETS_KEY_FILE', noEndpoints],
  ['HOLDFAST_ENDPOINT_ALLOW', noEndpoints],
])

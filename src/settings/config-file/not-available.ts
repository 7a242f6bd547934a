/**
 * Configuration that this version does not support. It is an error: if it were ignored, runs would
 * wait for something that never comes.
 */
const reasons: Readonly<Record<string, string>> = {
  tasks: 'it has only runs',
  notify: 'it publishes only on GitHub',
  inDoubt: "if GitHub's answer is lost, Holdfast always checks before it sends again",
  telegramApiUrl: 'it publishes only on GitHub',
  slackApiUrl: 'it publishes only on GitHub',
  mailFrom: 'it publishes only on GitHub',
}

/** By key: the message, which follows the place where the key was found. */
export const notAvailable: ReadonlyMap<string, string> = new Map(
  Object.entries(reasons).map(([key, reason]) => [
    key,
    `has the key ${JSON.stringify(key)}, which this version does not support: ${reason}. ` +
      'Remove it',
  ]),
)

/** By name: the message about a channel that this version does not have. */
export const unavailableChannels: ReadonlyMap<string, string> = new Map(
  ['telegram', 'slack', 'email', 'webhook'].map((name) => [
    name,
    `has the channel ${JSON.stringify(name)}, which this version does not support: it ` +
      'publishes only on GitHub. Remove it',
  ]),
)

const noEndpoints = 'it has no webhook endpoints'

/** By name: why this version does not support an environment variable of Holdfast. */
export const unavailableVariables: ReadonlyMap<string, string> = new Map([
  ['HOLDFAST_SECRETS_KEY', noEndpoints],
  ['HOLDFAST_SECRETS_KEY_FILE', noEndpoints],
  ['HOLDFAST_ENDPOINT_ALLOW', noEndpoints],
])

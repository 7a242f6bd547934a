/**
 * The schema that `holdfast.config.ts` is checked with. src/config.ts has the same shape as types.
 * A new section of the file adds its schema and its key here.
 */
import { z } from 'zod'
import type { Config } from '../../config.ts'
import { closedObject, wholeNumber } from './fields.ts'
import { notAvailable, unavailableChannels } from './not-available.ts'
import { hasFile, type Option, timerMsMax } from '../options/option.ts'
import { optionEntries } from '../options/options.ts'
import { runTypes } from './run-types-schema.ts'
import { githubChannels } from '../../channels/github-channels.ts'

const days = (min: number) => wholeNumber(min, 36_500).optional()
const retention = closedObject({
  finishedDays: days(1),
  supersededDays: days(1),
  // A person can let GitHub send a webhook again for three days. Without its inbox entry, the
  // repeated webhook would count as a new event.
  inboxDays: days(4),
  auditDays: days(1),
})

const retry = closedObject({
  maxRetries: wholeNumber(0, 1000).optional(),
  initialMs: wholeNumber(1, timerMsMax).optional(),
  factor: z
    .number('must be a number from 1 to 10')
    .min(1, 'must be a number from 1 to 10')
    .max(10, 'must be a number from 1 to 10')
    .optional(),
  maxMs: wholeNumber(1, timerMsMax).optional(),
})

const channel = closedObject({ retry: retry.optional() }, notAvailable)

const channels = closedObject(
  Object.fromEntries(githubChannels.map((name) => [name, channel.optional()])),
  unavailableChannels,
)

/** `otherPlaceOf` returns where a setting belongs, or null if it is allowed here. */
function schemaWith(
  otherPlaceOf: (key: string, entry: Option) => string | null,
): z.ZodType<Config> {
  const plainSettings: Record<string, z.ZodType> = {}
  const otherKeys = new Map<string, string>(notAvailable)
  for (const [key, entry] of optionEntries) {
    const place = otherPlaceOf(key, entry)
    if (place !== null) otherKeys.set(key, `sets ${key}, ${place}`)
    // load-settings.ts checks the value, so that the message is the same for every source.
    else plainSettings[key] = z.unknown().optional()
  }
  const shape = {
    ...plainSettings,
    runs: runTypes.optional(),
    channels: channels.optional(),
    retention: retention.optional(),
  }
  return closedObject(shape, otherKeys) as z.ZodType as z.ZodType<Config>
}

/** For a config file. */
export const configSchema = schemaWith((_key, entry) => {
  if (entry.secret !== 'whole') return null
  const file = hasFile(entry) ? ` or ${entry.env}_FILE` : ''
  return `a secret. Set it in the environment instead: ${entry.env}${file}`
})

const credentials = new Set(['githubToken', 'githubAppId', 'githubPrivateKey'])

/** For the argument of `openHoldfast`, which gets its credentials as a separate argument. */
export const argumentSchema = schemaWith((key, entry) => {
  if (credentials.has(key)) return 'which belongs in openHoldfast(config, { github })'
  return entry.secret === 'whole' ? 'which only a server needs. Remove it' : null
})

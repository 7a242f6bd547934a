/** The rules for `channels` of a config file. */
import { z } from 'zod'
import { githubChannels } from '../../channels/github-channels.ts'
import { closedObject } from '../closed-object.ts'
import { channelsToCome, notAvailable } from '../not-available.ts'
import { timerMsMax } from '../options/limits.ts'
import { wholeNumber } from './fields.ts'

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

export const channels = closedObject(
  Object.fromEntries(githubChannels.map((name) => [name, channel.optional()])),
  channelsToCome,
)

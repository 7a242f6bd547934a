/** Settings of what is published: how often, how fast and how. */
import { option } from './option.ts'
import { hostList, line, wholeNumber } from './value-kind.ts'
import { dayMs } from './option.ts'

export const publishingOptions = {
  coalesceMs: option({
    env: 'HOLDFAST_COALESCE_MS',
    kind: wholeNumber(0, dayMs),
    unit: 'milliseconds',
    default: 2000,
    summary: 'Shortest time between two edits of one comment or status',
    advice: 'A longer time saves writes and shows progress later. 0 turns it off.',
    secret: 'no',
  }),
  writeSpacingMs: option({
    env: 'HOLDFAST_WRITE_SPACING_MS',
    kind: wholeNumber(0, dayMs),
    unit: 'milliseconds',
    default: 1000,
    summary: 'Shortest time between two writes of one account to GitHub',
    advice:
      'GitHub asks for one second. A shorter time publishes faster, but GitHub may block the ' +
      'account for a while. 0 turns it off.',
    secret: 'no',
  }),
  writesPerMinute: option({
    env: 'HOLDFAST_WRITES_PER_MINUTE',
    kind: wholeNumber(0, 1_000_000),
    unit: 'writes',
    default: 80,
    summary: 'Most writes of one account to GitHub in a minute',
    advice: 'If it is more than GitHub allows, GitHub blocks the account for longer. 0: no limit.',
    secret: 'no',
  }),
  writesPerHour: option({
    env: 'HOLDFAST_WRITES_PER_HOUR',
    kind: wholeNumber(0, 1_000_000),
    unit: 'writes',
    default: 500,
    summary: 'Most writes of one account to GitHub in an hour',
    advice: 'If it is more than GitHub allows, GitHub blocks the account for longer. 0: no limit.',
    secret: 'no',
  }),
  confirmDelayMs: option({
    env: 'HOLDFAST_CONFIRM_DELAY_MS',
    kind: wholeNumber(0, dayMs),
    unit: 'milliseconds',
    default: 5000,
    summary: "Wait before checking GitHub again after GitHub's answer was lost",
    advice:
      'After a shorter wait the result is known sooner, but GitHub may not show yet what was ' +
      'published, and it is published twice.',
    secret: 'no',
  }),
  locale: option({
    env: 'HOLDFAST_LOCALE',
    kind: line('a language tag', /^[A-Za-z]{2,3}([-_][A-Za-z0-9]{1,8})*$/),
    unit: null,
    default: 'en',
    summary: 'Language of what is published',
    advice: 'There are English (`en`) and Russian (`ru`). Any other language means English.',
    secret: 'no',
  }),
  imageHosts: option({
    env: 'HOLDFAST_IMAGE_HOSTS',
    kind: hostList(),
    unit: null,
    default: null,
    defaultText: 'none: every image in a text from outside becomes a link',
    summary: 'Hosts whose images may be shown in what is published',
    advice:
      'Showing an image sends a request to its host. A text that was made to leak data can put ' +
      'the data into the address of an image. List only hosts that you trust.',
    secret: 'no',
  }),
} as const

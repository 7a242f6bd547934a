/**
 * Verbs that have the same effect and answer when they run twice, and why that is intended.
 * `lost-commit-cases.test.ts` checks this for these verbs and for no other.
 */
export const harmlessTwice: Readonly<Record<string, string>> = {
  'outbox.refuseIdentity':
    'a refusal during a block changes nothing, so ten nodes do not add up theirs',
  'outbox.confirm': 'what was confirmed is SENT, and SENT is final',
  'outbox.markerKeys': 'only the first makes a key',
  'outbox.learnAuthor': 'an account is known or not',
  'outbox.noteRestore': 'what was noted in doubt is in doubt',
  'catchUp.noteLooked': 'it says when, and the second says the same moment or a later one',
  'catchUp.noteDeliveriesRead': 'it says how far',
  'catchUp.forgetHeadCheck': 'there is nothing left to forget',
  'runs.claim, once': 'the key brings back the first answer',
  'runs.heartbeat': 'a lease that was just renewed is renewed',
  'runs.complete': 'a repeat by the same holder is answered like its first',
  'upkeep.beat': 'it says when',
  'upkeep.purge': 'it ends at what is past retention, in however many bites',
  'audit.number': 'what has a place keeps it',
  'tokens.touch': 'it says when',
  'repositories.learn': 'what is known is not learnt again',
  'repositories.learnUnverified': 'what was told is not told again',
  'catchUp.noteQuietLooked': 'it says when, and how far',
  'upkeep.recordMode': 'the first start is written once',
}
